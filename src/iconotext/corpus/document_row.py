"""Converts rows of a corpus to documents, and back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from iconotext.corpus.row import Row, parse_row
from iconotext.errors import CorpusError
from iconotext.types import Document, Image, Kind, Sentence

SENTENCE_KINDS: dict[str, Kind] = {
    "p": "paragraph",
    "h": "heading",
    "li": "item",
    "q": "quote",
    "td": "cell",
    "c": "caption",
}
"""Values of ``meta.sentence_kind``; others count as a paragraph. ``h1`` to ``h6`` also give the level of a heading."""

KIND_CODES = {kind: code for code, kind in SENTENCE_KINDS.items()}
LEVELS = frozenset(f"h{level}" for level in range(1, 7))


class FindsImages(Protocol):
    """Finds the images that a corpus refers to."""

    def find(self, source: str) -> tuple[Path | bytes | None, str | None]:
        """(image, None); (None, reason) if it should exist and does not; (None, None) if it needs no file."""


def document_of(row: Row, image_files: FindsImages, files: Sequence[bytes | None] = ()) -> Document:
    """The document of a row; a missing image gets a ``problem``.

    Args:
        files: Images inside the row, see ``Record.files``.
    """
    meta = dict(row.meta)
    if row.relations is not None:
        meta["relations"] = row.relations
    return Document(
        id=row.id,
        sentences=tuple(_sentences(row)),
        images=tuple(_images(row, image_files, files)),
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
        known, level = _kind(kind)
        yield Sentence(text, block, known, level=level)


def _kind(code: str) -> tuple[Kind, int | None]:
    if code in LEVELS:
        return "heading", int(code[1])
    return SENTENCE_KINDS.get(code, "paragraph"), None


def _images(row: Row, image_files: FindsImages, files: Sequence[bytes | None]) -> Iterator[Image]:
    for number, source in enumerate(row.images):
        inside = files[number] if files else None
        file, problem = (inside, None) if inside is not None else image_files.find(source)
        yield Image(
            source=source,
            file=file,
            alt=row.alts[number] if row.alts else None,
            caption=row.captions[number] if row.captions else None,
            position=row.positions[number] if row.positions is not None else None,
            problem=problem,
        )


def row_of(document: Document, folder: Path) -> Row:
    """The row of a document in a corpus file.

    Args:
        document: Its images must be files, or have no file at all.

    Raises:
        CorpusError: The document does not fit the format; the message names document and field.
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
    """The name of an image in a corpus file in ``folder``: the path to its file, else its ``source``.

    Raises:
        CorpusError: The picture came from inside its document, or from the network, and has no file.
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
        relative = os.path.relpath(_real(image.file.parent.absolute()), _real(folder.absolute()))
        return Path(relative, image.file.name).as_posix()
    except ValueError:  # on another drive (Windows)
        return image.file.resolve().as_posix()


@lru_cache(maxsize=1024)
def _real(folder: Path) -> Path:
    """The folder with symbolic links resolved, since ".." after a link leads elsewhere."""
    return folder.resolve()


def _meta(document: Document) -> dict[str, Any]:
    meta = {name: value for name, value in document.meta.items() if name != "relations"}
    if document.title is not None:
        meta["title"] = document.title
    if document.language != "en":
        meta["language"] = document.language
    kinds = [(sentence.kind, sentence.level) for sentence in document.sentences]
    written = meta.get("sentence_kind") or ["p"] * len(kinds)
    if kinds != [_kind(code) for code in written]:
        meta["sentence_kind"] = [f"{KIND_CODES[kind]}{level or ''}" for kind, level in kinds]
    return meta


def _complete(values: list[int | None]) -> list[int] | None:
    """The values if none is None, since a column has a number for each; else None."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def _any(values: list[str | None]) -> list[str | None] | None:
    return values if any(value is not None for value in values) else None
