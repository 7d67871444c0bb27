"""Documents written to a file and read, and what is in them."""

from __future__ import annotations

from pathlib import Path

from iconotext.read import ReadSettings, read
from iconotext.types import Document


def read_as(path: Path, content: str | bytes, **settings: object) -> Document:
    """Write a file, in a folder that is made if need be, and read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(path, ReadSettings.model_validate(settings))


def texts(document: Document) -> list[str]:
    return [sentence.text for sentence in document.sentences]


def pictures(document: Document) -> list[tuple[str, str | None, str | None]]:
    return [(image.source, image.alt, image.caption) for image in document.images]
