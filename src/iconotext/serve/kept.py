"""The stored evidence of a document, so that verdicts about others can change its links without reading it again.

``keep`` writes it and ``kept`` reads it. There are two files in the folder of the document, one of arrays and one of
JSON, with numbers and the necessary parts of the document's layout and captions. Files of another version or model
count as missing.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext import __version__
from iconotext.decide.combine import places_by_evidence
from iconotext.evidence.gather import DocumentEvidence, only_images
from iconotext.evidence.habit import PlaceEvidence
from iconotext.plain_text import json_text
from iconotext.run import KEPT
from iconotext.system.files import open_atomic, write_text
from iconotext.types import Document, Evidence, Image, Sentence

if TYPE_CHECKING:
    from numpy.typing import NDArray


ARRAYS, ABOUT = "evidence.npz", "evidence.json"
"""Names of the files."""

FORM = 1
"""Version of both files; files of another version count as missing."""

OF_COLLECTION = ("collection", "repository", "book")
"""Keys of ``Document.meta`` that name the collection whose habits it shares."""

TEACHERS: tuple[Evidence, ...] = ("caption", "reference")
"""The kinds of evidence from which habits are inferred."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The stored evidence of a document.

    Attributes:
        document: The necessary parts of the document, without files of pictures.
        places: The places of its pictures by captions and references; None without layout.
    """

    document: Document
    places: PlaceEvidence | None
    note: str | None
    arrays: Path

    @property
    def evidence(self) -> DocumentEvidence | None:
        """All evidence, for ``Linker.link_evidence``; None for a very large document."""
        with np.load(self.arrays, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if "numbers" not in arrays:
            return None
        features: dict[Any, Any] = {}
        for name, matrix in arrays.items():
            kind, _, feature = name.partition(" ")
            if feature and kind != "places":
                features.setdefault(kind, {})[feature] = matrix
        return DocumentEvidence(
            self.document,
            only_images(self.document, arrays["numbers"].tolist()),
            arrays["numbers"],
            features,
            arrays.get("reference"),
            arrays.get("similarity"),
            note=self.note,
        )


def keep(evidence: DocumentEvidence, model: str, digest: str, folder: Path) -> None:
    """Store a document's evidence; for a very large document only the places of its pictures.

    Args:
        digest: Digest of the document when it was encoded.
    """
    document = evidence.document
    arrays: dict[str, NDArray[Any]] = {
        f"{kind} {name}": matrix for kind, columns in evidence.features.items() for name, matrix in columns.items()
    }
    for name in ("reference", "similarity", "numbers"):
        if (matrix := getattr(evidence, name)) is not None:
            arrays[name] = matrix
    if sum(matrix.size for matrix in arrays.values()) > KEPT:
        arrays = {}
    (places,) = places_by_evidence([evidence], evidence=TEACHERS)
    if places is not None:
        arrays |= {f"places {name}": matrix for name, matrix in places._asdict().items()}
    about = {
        "form": _form(model),
        "digest": digest,
        "id": document.id,
        "source": str(document.source) if document.source else None,
        "title": document.title,
        "language": document.language,
        "meta": {name: document.meta[name] for name in OF_COLLECTION if isinstance(document.meta.get(name), str)},
        "sentences": [[s.text, s.block, s.kind] for s in document.sentences],
        "images": [[i.source, i.alt, i.caption, i.block, i.position, i.problem] for i in document.images],
        "note": evidence.note,
    }
    (folder / ABOUT).unlink(missing_ok=True)
    with open_atomic(folder / ARRAYS, force=True) as file:
        np.savez(file, allow_pickle=False, **arrays)
    write_text(folder / ABOUT, json_text(about), force=True)  # last: without it the arrays count as missing


def kept(folder: Path, model: str, digest: str) -> Kept | None:
    """The stored evidence; None if there is none, or if it is of another document version, program or model."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["form"] != _form(model) or about["digest"] != digest:
            return None
        with (folder / ARRAYS).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            names = [f"places {name}" for name in PlaceEvidence._fields]
            places = PlaceEvidence(*(file[name] for name in names)) if names[0] in file.files else None
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    document = Document(
        about["id"],
        tuple(Sentence(text, block, kind) for text, block, kind in about["sentences"]),
        tuple(
            Image(source, alt=alt, caption=caption, block=block, position=position, problem=problem)
            for source, alt, caption, block, position, problem in about["images"]
        ),
        source=Path(about["source"]) if about["source"] else None,
        title=about["title"],
        language=about["language"],
        meta=about["meta"],
    )
    return Kept(document, places, about["note"], folder / ARRAYS)


def _form(model: str) -> list[Any]:
    return [FORM, __version__, model]
