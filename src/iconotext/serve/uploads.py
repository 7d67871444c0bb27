"""Files that come from a browser: where they go, and what is refused.

Names come from strangers: each must stay below the folder of its upload, whatever it says, and a zip is unpacked under
the limits of ``read.archive``.
"""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from iconotext.errors import DocumentError, HostileDocumentError, OutputError
from iconotext.read.archive import open_archive
from iconotext.write import write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iconotext.serve.settings import ServeSettings

MAX_DEPTH = 20
"""Folders in each other in the name of a file."""

MAX_NAME = 200
"""Bytes of each part of the name of a file."""

PIECE = 2**20
"""Bytes of a file that are in memory at once."""

_CONTROL = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')
"""What names of files have on no system, or not on all of them."""


def safe_name(name: str) -> PurePosixPath:
    """The path of a file below the folder of its upload.

    Raises:
        HostileDocumentError: The name leads elsewhere, or no system could have it.
    """
    parts = name.replace("\\", "/").split("/")
    if not name or any(part in ("", ".", "..") or _CONTROL.search(part) for part in parts):
        raise HostileDocumentError(f"a file is called {name[:100]!r}: rename it, without signs such as : ? *")
    long = any(len(part.encode("utf-8", "surrogatepass")) > MAX_NAME for part in parts)
    if len(parts) > MAX_DEPTH or long or "\ud800" <= max(name) <= "\udfff":
        raise HostileDocumentError(f"a file has too long a name, or lies too deep: {name[:60]!r}...")
    return PurePosixPath(*(part.rstrip(". ") or "_" for part in parts))


def save_files(files: Iterable[tuple[str, BinaryIO]], folder: Path, settings: ServeSettings) -> None:
    """Write files, and what is in zips, into a folder of their own, which is removed where one is refused.

    Args:
        settings: Its limits count for all files together.

    Raises:
        HostileDocumentError: A name, a zip, or their number or size passes a limit.
        DocumentError: A zip is damaged.
    """
    folder.mkdir(parents=True)
    try:
        names: set[str] = set()
        left = settings.max_upload
        for name, content in files:
            place = safe_name(name)
            if place.suffix.lower() == ".zip":
                left = _unpack(content, folder, names, left, settings)
            else:
                left -= _size(content)
                _write(folder, place, iter(partial(content.read, PIECE), b""), names, settings)
        if not names:
            raise DocumentError("no file came")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _unpack(content: BinaryIO, folder: Path, names: set[str], left: int, settings: ServeSettings) -> int:
    packed = folder / ".upload.zip"
    with packed.open("wb") as file:
        shutil.copyfileobj(content, file)
    try:
        with open_archive(packed, left) as archive:
            if len(archive.names) > settings.max_files:
                raise HostileDocumentError(f"{len(archive.names):,} files in the zip: {settings.max_files:,} may come")
            for name in archive.names:
                if not _is_of_the_system(name):
                    data = archive.unpack(name)
                    left -= len(data)
                    _write(folder, safe_name(name), data, names, settings)
    finally:
        packed.unlink()
    return left


def _write(
    folder: Path, place: PurePosixPath, data: bytes | Iterable[bytes], names: set[str], settings: ServeSettings
) -> None:
    known = str(place).casefold()
    if known in names:
        raise HostileDocumentError(f"two files are called {place}: rename one")
    names.add(known)
    if len(names) > settings.max_files:
        raise HostileDocumentError(f"more than {settings.max_files:,} files: send a part of them")
    try:
        write_bytes(folder / place, data)
    except OutputError as error:
        if not isinstance(error.__cause__, (FileExistsError, NotADirectoryError)):
            raise  # the disk is full, say
        raise HostileDocumentError(f"{place}: a file and a folder have the same name: rename one") from error


def _is_of_the_system(name: str) -> bool:
    """Whether a program put a file into a zip that nobody sees there."""
    return name.startswith("__MACOSX/") or PurePosixPath(name).name in (".DS_Store", "Thumbs.db")


def _size(content: BinaryIO) -> int:
    size = content.seek(0, 2)
    content.seek(0)
    return size
