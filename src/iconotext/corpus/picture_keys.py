"""Tell whether two images are the same picture."""

from __future__ import annotations

import hashlib
from pathlib import Path

from iconotext.types import Image


class PictureKeys:
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
            try:
                with image.file.open("rb") as stream:
                    self._of_file[image.file] = hashlib.file_digest(stream, "sha256").digest()
            except OSError:
                self._of_file[image.file] = f"source {image.source}".encode("utf-8", "surrogatepass")
        return self._of_file[image.file]
