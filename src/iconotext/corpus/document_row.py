"""From a row of a corpus to a document, and back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from iconotext.corpus.row import Row, parse_row
from iconotext.errors import CorpusError
from iconotext.features.feature_table import ROWS_FILE, read_rows
from iconotext.types import Document, Image, Kind, Sentence

SENTENCE_KINDS: dict[str, Kind] = {
    "p": "paragraph",
    "h": "heading",
    "li": "item",
    "q": "quote",
    "td": "cell",
    "c": "caption",
}
"""What ``meta.sentence_kind`` may say; anything else counts as a paragraph."""

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""How an image begins that is named by an address (``https:``, ``recipeqa:``) and not by a path; a drive is shorter."""

KIND_CODES = {kind: code for code, kind in SENTENCE_KINDS.items()}


FOLDERS = 50_000
"""Folders that are remembered, whether they are there; then all are forgotten."""


class Whereabouts(IntEnum):
    """Where a picture is.

    Attributes:
        FILE: In a file.
        NOWHERE: It needs none: its features are there, or the format has no files.
        WEB: At an address, not at hand.
        LOST: Its file is not there.
    """

    FILE = 0
    NOWHERE = 1
    WEB = 2
    LOST = 3


class Pictures:
    """Finds the pictures that a corpus names.

    Args:
        folder: Where the corpus file lies.
        files: Whether the images are files at all; in the released format they are ids.
    """

    def __init__(self, folder: Path, *, files: bool = True) -> None:
        self.folder = folder
        self.files = files
        self._start = str(folder)
        self._folders: dict[str, bool] = {}

    @cached_property
    def _in_table(self) -> frozenset[str]:
        """Images that have their features beside the corpus; read when the first picture is missing."""
        path = self.folder / ROWS_FILE
        return frozenset(read_rows(path)) if path.is_file() else frozenset()

    def whereabouts(self, source: str) -> Whereabouts:
        """Where the picture of an image is.

        An image whose features lie beside the corpus needs no file. One that is named by an address is not at hand,
        unless a file has this very name.
        """
        if not self.files:
            return Whereabouts.NOWHERE
        address = named_by_address(source)
        if self._has_folder(source, address) and os.path.isfile(os.path.join(self._start, source)):
            return Whereabouts.FILE
        if source in self._in_table:
            return Whereabouts.NOWHERE
        return Whereabouts.WEB if address else Whereabouts.LOST

    def _has_folder(self, source: str, address: bool) -> bool:
        """Whether the folder is there in which a file of this name would lie; quicker than a look for every file.

        A file may have a name like an address; most often there is not even a folder named "https:" to look into.
        """
        folder = source.partition("/")[0] if address and "/" in source else source.rpartition("/")[0]
        known = self._folders.get(folder)
        if known is None:
            if len(self._folders) >= FOLDERS:
                self._folders.clear()
            known = self._folders[folder] = os.path.isdir(os.path.join(self._start, folder))
        return known

    def find(self, source: str) -> tuple[Path | None, str | None]:
        """The file of an image, and why there is none where there should be one."""
        match self.whereabouts(source):
            case Whereabouts.FILE:
                return self.folder / source, None
            case Whereabouts.WEB:
                return None, f"not at hand: {source} is an address"
            case Whereabouts.LOST:
                rows = f", and {ROWS_FILE} beside the corpus has no row for it" if self._in_table else ""
                return None, f"not found: {self.folder / source}{rows}"
        return None, None


def named_by_address(source: str) -> bool:
    """Whether a corpus names an image by an address, on the web or in another collection, instead of a path."""
    return ":" in source and ADDRESS.match(source) is not None


def document_of(row: Row, pictures: Pictures) -> Document:
    """The document that a row describes. A picture that is not there gets a ``problem``."""
    meta = dict(row.meta)
    if row.relations is not None:
        meta["relations"] = row.relations
    return Document(
        id=row.id,
        sentences=tuple(_sentences(row)),
        images=tuple(_images(row, pictures)),
        title=meta.get("title"),
        language=meta.get("language") or "en",
        links=None if row.links is None else tuple(row.links),
        split=row.split,
        meta=meta,
    )


def _sentences(row: Row) -> Iterator[Sentence]:
    kinds = row.meta.get("sentence_kind") or ["p"] * len(row.sentences)
    blocks: list[int | None] = [*row.blocks] if row.blocks is not None else [None] * len(row.sentences)
    for text, block, kind in zip(row.sentences, blocks, kinds, strict=True):
        yield Sentence(text, block, SENTENCE_KINDS.get(kind, "paragraph"))


def _images(row: Row, pictures: Pictures) -> Iterator[Image]:
    for number, source in enumerate(row.images):
        file, problem = pictures.find(source)
        yield Image(
            source=source,
            file=file,
            alt=row.alts[number] if row.alts else None,
            caption=row.captions[number] if row.captions else None,
            position=row.positions[number] if row.positions is not None else None,
            problem=problem,
        )


def row_of(document: Document, folder: Path) -> Row:
    """The row that describes a document in a corpus file.

    Args:
        document: Its pictures must be files, or have no file at all.
        folder: Where the corpus file will lie; paths of pictures become relative to it.

    Raises:
        CorpusError: The document does not fit the format; names document and field.
    """
    values: dict[str, Any] = {
        "id": document.id,
        "split": document.split,
        "sentences": [sentence.text for sentence in document.sentences],
        "images": [written_source(image, folder) for image in document.images],
        "links": None if document.links is None else list(document.links),
        "blocks": _complete([sentence.block for sentence in document.sentences]),
        "positions": _complete([image.position for image in document.images]),
        "captions": _any([image.caption for image in document.images]),
        "alts": _any([image.alt for image in document.images]),
        "relations": document.meta.get("relations"),
        "meta": _meta(document),
    }
    record = parse_row(values, f"document {document.id!r}")
    if record.problems or record.row is None:
        raise CorpusError(str(record.problems[0]))
    return record.row


def written_source(image: Image, folder: Path) -> str:
    """How a corpus file in a folder names an image: the way to its file, else what the document calls it.

    Raises:
        CorpusError: The picture came inside its document, or from the network, and is no file.
    """
    if isinstance(image.file, bytes):
        raise CorpusError(
            f"picture {image.source}: came inside its document; a corpus names files, so save it to one first"
        )
    if image.file is None:
        return image.source
    if not os.path.isabs(image.source) and os.path.normpath(folder / image.source) == os.path.normpath(image.file):
        return image.source
    try:
        way = os.path.relpath(_real(image.file.parent.absolute()), _real(folder.absolute()))
        return Path(way, image.file.name).as_posix()
    except ValueError:  # another drive of a Windows machine
        return image.file.resolve().as_posix()


@lru_cache(maxsize=1024)
def _real(folder: Path) -> Path:
    """The folder without links, through which ".." would lead elsewhere."""
    return folder.resolve()


def _meta(document: Document) -> dict[str, Any]:
    meta = {name: value for name, value in document.meta.items() if name != "relations"}
    if document.title is not None:
        meta["title"] = document.title
    if document.language != "en":
        meta["language"] = document.language
    kinds = [sentence.kind for sentence in document.sentences]
    written = meta.get("sentence_kind") or ["p"] * len(kinds)
    if kinds != [SENTENCE_KINDS.get(code, "paragraph") for code in written]:
        meta["sentence_kind"] = [KIND_CODES[kind] for kind in kinds]
    return meta


def _complete(values: list[int | None]) -> list[int] | None:
    """The values, if all are known: a column has a number for each."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def _any(values: list[str | None]) -> list[str | None] | None:
    return values if any(value is not None for value in values) else None
