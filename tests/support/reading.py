"""Documents written to a file and read, and what is in them."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
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


def packed_with(data: bytes, part: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """A zip file with one member changed, or left out where the change gives None."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content: bytes | None = old.read(name)
            if re.fullmatch(part, name):
                content = change(content or b"")
            if content is not None:
                new.writestr(name, content)
    return buffer.getvalue()
