"""What is known of a linked document, kept beside its links: a correction elsewhere changes them without reading again.

A file of arrays and one of JSON lie in the folder of the document. They hold numbers, and of the document what its
layout and its captions are judged by; whatever does not fit this program and its model counts as not kept.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext import __version__
from iconotext.links.evidence import Gathered
from iconotext.links.link_windows import Known
from iconotext.links.windows import KEPT
from iconotext.plain_text import json_text
from iconotext.types import Document, Image, Sentence
from iconotext.write import open_atomic, write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAYS, ABOUT = "evidence.npz", "evidence.json"
"""The files."""

FORM = 1
"""Of both; what has another one counts as not kept."""

OF_COLLECTION = ("collection", "repository", "book")
"""What of ``Document.meta`` says which habits it shares."""


def keep(known: Known, model: str, digest: str, folder: Path) -> None:
    """Keep what is known; of a very large document nothing is.

    Args:
        known: Of ``Linker.know``.
        model: What looked at its pictures.
        digest: Of the document, as it was when it was looked at.
        folder: That of the document.
    """
    gathered, document = known.gathered, known.document
    arrays: dict[str, NDArray[Any]] = {
        f"{kind} {name}": matrix for kind, columns in gathered.features.items() for name, matrix in columns.items()
    }
    for name in ("reference", "similarity", "numbers"):
        if (matrix := getattr(gathered, name)) is not None:
            arrays[name] = matrix
    (folder / ABOUT).unlink(missing_ok=True)
    if sum(matrix.size for matrix in arrays.values()) > KEPT:
        return
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
        "note": known.note,
    }
    with open_atomic(folder / ARRAYS) as file:
        np.savez(file, allow_pickle=False, **arrays)
    write_text(folder / ABOUT, json_text(about), force=True)  # last: arrays without it count for nothing


def kept(folder: Path, model: str, digest: str) -> Known | None:
    """What was kept of a document; None where nothing was, or of another one, or by another program or model."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["form"] != _form(model) or about["digest"] != digest:
            return None
        with np.load(folder / ARRAYS, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
    sentences = tuple(Sentence(text, block, kind) for text, block, kind in about["sentences"])
    images = tuple(
        Image(source, alt=alt, caption=caption, block=block, position=position, problem=problem)
        for source, alt, caption, block, position, problem in about["images"]
    )
    document = Document(
        about["id"],
        sentences,
        images,
        source=Path(about["source"]) if about["source"] else None,
        title=about["title"],
        language=about["language"],
        meta=about["meta"],
    )
    features: dict[Any, Any] = {}
    for name, matrix in arrays.items():
        kind, _, feature = name.partition(" ")
        if feature:
            features.setdefault(kind, {})[feature] = matrix
    numbers = arrays["numbers"]
    sound = Document(
        document.id,
        sentences,
        tuple(images[number] for number in numbers),
        source=document.source,
        language=document.language,
        meta=document.meta,
    )
    gathered = Gathered(
        sound, features, arrays.get("reference"), arrays.get("similarity"), numbers, len(document.images)
    )
    return Known(document, gathered, None, about["note"])


def _form(model: str) -> list[Any]:
    return [FORM, __version__, model]
