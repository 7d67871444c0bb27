"""Files included by a text file: ``include::`` of AsciiDoc, ``.. include::`` of reStructuredText."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import DocumentError, ImageError
from iconotext.read.address import MAX_LENGTH, SCHEME, inside
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text

MAX_INCLUDED = 200
"""Maximum number of included files of a document."""

MAX_BYTES = 16 * 2**20
"""Maximum size of all included files together, in bytes."""


class Includes:
    """The included files of a document, each included only once, so that cycles end.

    Args:
        settings: Files outside ``root`` are not read; without it, files outside the document's folder.

    Attributes:
        unread: Files that could not be included, with reasons, a line each.
    """

    def __init__(self, document: Path, settings: ReadSettings) -> None:
        self._root = settings.root or document.parent
        self._settings = settings
        self._seen = {document.resolve()}
        self._bytes = 0
        self.unread: list[str] = []

    def text(self, name: str, including: Path) -> tuple[Path, str] | None:
        """The file of a name and its text; None if it was included before, or cannot be read (see ``unread``).

        Args:
            name: As in the document, relative to the folder of the including file; a name that begins with ``/`` is
                relative to the root.
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
