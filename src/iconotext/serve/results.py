"""The folder of a linked document: its reading view, JSON, pictures and evidence.

With the evidence, verdicts about other documents can change the links without reading the document again. It is stored
as arrays and JSON, not as a pickle: that of another version or model must count as missing, not fail or be wrong.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext import __version__
from iconotext.decide.combine import places_by_evidence
from iconotext.evidence.gather import DocumentEvidence, only_images
from iconotext.evidence.habit import PlaceEvidence
from iconotext.plain_text import json_text
from iconotext.run import MAX_STORED
from iconotext.system.files import open_atomic, write_bytes, write_text
from iconotext.types import Document, Evidence, Image, Sentence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.report.embedded import Embedded

PAGE, LINKED, STAMP = "page.html", "linked.json", "stamp"
"""Files: the reading view, its JSON (like ``iconotext link --to json``), and the state from which both were made: the
``round`` of the collection and the last verdict on the document.
"""

REVIEW = "review.json"
"""File with the data of the review page."""

ALT_TEXT = "alt-texts.json"
"""File with the pictures, the problems of their alternative texts, and what a vision model is asked about them."""

ARRAYS, ABOUT = "evidence.npz", "evidence.json"
"""Files of the evidence: numbers, and the necessary parts of the document's layout and captions."""

KINDS = ("jpeg", "png")
"""Types and suffixes of the files of pictures."""

FORMAT = 2
"""Version of the files of the evidence; files of another version count as missing."""

OF_COLLECTION = ("collection", "repository", "book")
"""Keys of ``Document.meta`` that name the collection whose habits it shares."""

TEACHERS: tuple[Evidence, ...] = ("caption", "reference")
"""The kinds of evidence from which habits are inferred."""


def embed_in(home: Path, document: Document, numbers: Iterable[int]) -> dict[int, Embedded]:
    """Embed some pictures of a document, and write a file of each into the folder of its results."""
    from iconotext.report.embedded import embed

    embedded = embed(document.images, numbers)
    for number, picture in embedded.items():
        new_kind = None
        if picture.uri is not None:
            new_kind, data = picture.content
            write_bytes(home / f"{number}.{new_kind}", data, force=True)
        for kind in KINDS:  # of an earlier version of the picture
            if kind != new_kind:
                (home / f"{number}.{kind}").unlink(missing_ok=True)
    return embedded


def picture_file(home: Path, name: int | str) -> Path | None:
    """The file of a picture in a folder, by its number or digest; None if it does not exist."""
    return next((file for kind in KINDS if (file := home / f"{name}.{kind}").is_file()), None)


def picture_digest(data: bytes) -> str:
    """The digest in the address of a picture, which a browser may cache forever."""
    return hashlib.sha256(data).hexdigest()[:16]


def addressed(home: Path, document: Document) -> dict[int, Embedded]:
    """The pictures of a document by their addresses on this server; equal pictures have the same address.

    A picture without a file is embedded now, or has a ``problem``. The folder has the document's id as its name.
    """
    from PIL import Image as Pixels

    from iconotext.report.embedded import Embedded
    from iconotext.report.reading_page import shown_images

    numbers = shown_images(document)
    pictures = embed_in(home, document, [number for number in numbers if picture_file(home, number) is None])
    addresses: dict[str, str] = {}
    for number in numbers:
        if (file := picture_file(home, number)) is not None:
            digest = picture_digest(file.read_bytes())
            address = f"/v1/documents/{home.name}/pictures/{number}?digest={digest}"
            with Pixels.open(file) as pixels:
                pictures[number] = Embedded(addresses.setdefault(digest, address), *pixels.size)
    return pictures


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvidence:
    """The stored evidence of a document.

    Attributes:
        document: Only its necessary parts, without files of pictures.
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


def store_evidence(evidence: DocumentEvidence, model: str, digest: str, folder: Path) -> None:
    """Store the evidence of a document of this digest; of a very large document only the places of its pictures."""
    document = evidence.document
    arrays: dict[str, NDArray[Any]] = {
        f"{kind} {name}": matrix for kind, columns in evidence.features.items() for name, matrix in columns.items()
    }
    for name in ("reference", "similarity", "numbers"):
        if (matrix := getattr(evidence, name)) is not None:
            arrays[name] = matrix
    if sum(matrix.size for matrix in arrays.values()) > MAX_STORED:
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


def stored_evidence(folder: Path, model: str, digest: str) -> StoredEvidence | None:
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
    return StoredEvidence(document, places, about["note"], folder / ARRAYS)


def _form(model: str) -> list[Any]:
    return [FORMAT, __version__, model]
