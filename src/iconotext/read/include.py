"""Files that a text file takes in: ``include::`` of AsciiDoc, ``.. include::`` of reStructuredText."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import DocumentError, ImageError
from iconotext.read.address import MAX_LENGTH, SCHEME, inside
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text

MAX_INCLUDED = 200
"""Files that one document takes in."""

MAX_BYTES = 16 * 2**20
"""Of all of them together."""


class Includes:
    """The files that one document takes in, each once: so no circle of them is endless.

    Args:
        settings: No file outside ``root`` is read; without one, none outside the document's folder.

    Attributes:
        unread: What is named and cannot be taken in, and why, a line each.
    """

    def __init__(self, document: Path, settings: ReadSettings) -> None:
        self._root = settings.root or document.parent
        self._settings = settings
        self._seen = {document.resolve()}
        self._bytes = 0
        self.unread: list[str] = []

    def text(self, name: str, including: Path) -> tuple[Path, str] | None:
        """The file of a name and its text; None where it is there already, or cannot be read, as ``unread`` then says.

        Args:
            name: As the document writes it, relative to the folder of the file that names it; one that begins with
                ``/`` is relative to the root.
        """
        try:
            path = self._path(name, including)
            if path.resolve() in self._seen:
                return None
            size = path.stat().st_size
            if len(self._seen) > MAX_INCLUDED or self._bytes + size > MAX_BYTES:
                raise ImageError(f"more than {MAX_INCLUDED} files or {MAX_BYTES / 2**20:.0f} MiB are not taken in")
            self._seen.add(path.resolve())
            self._bytes += size
            return path, decode_text(path)
        except (ImageError, DocumentError, OSError) as error:
            why = f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            self.unread.append(f"{name[:200]}, which it takes in, is left out: {why}")
            return None

    def _path(self, name: str, including: Path) -> Path:
        if len(name) > MAX_LENGTH or "\x00" in name:
            raise ImageError("not a usable name")
        if SCHEME.match(name):
            raise ImageError("not a file beside it")
        base = self._root if name.startswith("/") else including.parent
        path = inside(base / name.lstrip("/"), self._root, self._settings)
        if path is None:
            raise ImageError("not found")
        return path
