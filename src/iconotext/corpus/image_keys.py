"""Tell whether two images are the same picture."""

from __future__ import annotations

import hashlib
from pathlib import Path

from iconotext.types import Image


class ImageKeys:
    """Gives equal keys to images with the same bytes, wherever they lie; reads each file once."""

    def __init__(self) -> None:
        self._of_file: dict[Path, bytes] = {}

    def of(self, image: Image) -> bytes:
        """The key of an image; one without a file that can be read is known by what the document calls it."""
        if isinstance(image.file, bytes):
            return hashlib.sha256(image.file).digest()
        if image.file is None:
            return f"source {image.source}".encode("utf-8", "surrogatepass")
        if image.file not in self._of_file:
            source = f"source {image.source}".encode("utf-8", "surrogatepass")
            self._of_file[image.file] = content_key(image.file) or source
        return self._of_file[image.file]


def content_key(file: Path) -> bytes | None:
    """A digest of the bytes of a file; None where it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError:
        return None
