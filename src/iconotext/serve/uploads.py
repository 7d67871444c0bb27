"""Saves files that a browser sends, and refuses unsafe ones.

Names come from strangers: every file must stay in the folder of its upload, and zips are unpacked within the limits of
``read.archive``.
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
"""Maximum depth of folders in a file's name."""

MAX_NAME = 200
"""Maximum length in bytes of each part of a file's name."""

PIECE = 2**20
"""Bytes of a file that are in memory at a time."""

_CONTROL = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')
"""Characters that are not allowed in file names, on some systems or on all."""


def safe_name(name: str) -> PurePosixPath:
    """The path of a file below the folder of its upload.

    Raises:
        HostileDocumentError: The name leads elsewhere, or is not a possible file name.
    """
    parts = name.replace("\\", "/").split("/")
    if not name or any(part in ("", ".", "..") or _CONTROL.search(part) for part in parts):
        raise HostileDocumentError(f"a file is called {name[:100]!r}: rename it, without signs such as : ? *")
    long = any(len(part.encode("utf-8", "surrogatepass")) > MAX_NAME for part in parts)
    if len(parts) > MAX_DEPTH or long or "\ud800" <= max(name) <= "\udfff":
        raise HostileDocumentError(f"a file has too long a name, or lies too deep: {name[:60]!r}...")
    return PurePosixPath(*(part.rstrip(". ") or "_" for part in parts))


def save_files(files: Iterable[tuple[str, BinaryIO]], folder: Path, settings: ServeSettings) -> None:
    """Write files, and the contents of zips, into a new folder, which is removed if one of them is refused.

    Args:
        settings: Limits for all files together.

    Raises:
        HostileDocumentError: A name, a zip, or the number or size of files exceeds a limit.
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
            raise  # for example, the disk is full
        raise HostileDocumentError(f"{place}: a file and a folder have the same name: rename one") from error


def _is_of_the_system(name: str) -> bool:
    """Whether a file in a zip is a hidden one of an operating system."""
    return name.startswith("__MACOSX/") or PurePosixPath(name).name in (".DS_Store", "Thumbs.db")


def _size(content: BinaryIO) -> int:
    size = content.seek(0, 2)
    content.seek(0)
    return size
