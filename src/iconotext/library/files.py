"""Which files are meant by the paths that are added to a library, and what is known of a file without decoding it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from PIL import Image as Pillow

from iconotext.errors import LibraryError
from iconotext.images.file import FORMATS, pillow_silenced
from iconotext.images.kind import RAW
from iconotext.read import SUFFIXES
from iconotext.read.find import reason_to_skip

IMAGES = frozenset(
    {
        ".jpg",
        ".jpeg",
        ".jpe",
        ".png",
        ".webp",
        ".gif",
        ".tif",
        ".tiff",
        ".bmp",
        ".dib",
        ".avif",
        ".jp2",
        ".j2k",
        ".heic",
        ".heif",
        *RAW,
    }
)
"""Suffixes of the pictures that are looked for in folders; a camera's raw files only to say what to do with them."""

_EXIF = 0x8769  # where the camera's own fields begin
_TAKEN, _DIGITISED, _CHANGED = 0x9003, 0x9004, 0x0132
_CAMERA_TIME = "%Y:%m:%d %H:%M:%S"


@dataclass(frozen=True, slots=True)
class Found:
    """A file to be added.

    Attributes:
        path: The file, absolute.
        folder: The folder that was named, absolute; None where the file itself was.
        kind: What it is.
    """

    path: Path
    folder: Path | None
    kind: Literal["picture", "document"]


def find_files(paths: Iterable[Path], *, leave_out: Path, unread: list[tuple[Path, str]]) -> Iterator[Found]:
    """The pictures and documents meant by paths, each once, in order of name within each folder.

    Hidden folders, ``node_modules``, HTML templates and the pages that this program made are left out. A file that is
    named itself is a picture unless its suffix is that of a document.

    Args:
        paths: Files and folders.
        leave_out: A folder that is not looked into: the library's own.
        unread: Gets the folders that cannot be listed, and why: what is in them is not known.

    Raises:
        LibraryError: A path is not there.
    """
    seen: set[Path] = set()
    for given in paths:
        path = given.resolve()
        if os.path.isfile(path):  # False, too, where it may not be looked at
            found: Iterable[Found] = [Found(path, None, file_kind(path) or "picture")]
        elif os.path.isdir(path):
            found = _within(path, leave_out.resolve(), unread)
        else:
            raise LibraryError(f"{given}: no such file or folder")
        for file in found:
            if file.path not in seen:
                seen.add(file.path)
                yield file


def _within(root: Path, leave_out: Path, unread: list[tuple[Path, str]]) -> Iterator[Found]:
    def cannot(error: OSError) -> None:
        unread.append((Path(error.filename), error.strerror or str(error)))

    for top, folders, names in os.walk(root, onerror=cannot):
        folder = Path(top)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name != "node_modules" and folder / name != leave_out
        )
        for name in sorted(names):
            kind = file_kind(Path(name))
            if kind is not None and not name.startswith(".") and reason_to_skip(folder / name) is None:
                yield Found(folder / name, root, kind)


def file_kind(path: Path) -> Literal["picture", "document"] | None:
    """What a file is by its suffix; None for neither."""
    suffix = path.suffix.lower()
    return "picture" if suffix in IMAGES else "document" if suffix in SUFFIXES else None


def file_state(path: Path) -> str | None:
    """Size and time of a file: as long as they are the same, so is its content. None where there is no such file."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


def digest_of(image: Path | bytes) -> str:
    """The name of a picture's content: 32 hexadecimal digits.

    Raises:
        OSError: The file cannot be read.
    """
    if isinstance(image, bytes):
        return hashlib.sha256(image).hexdigest()[:32]
    with image.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:32]


def image_date(image: Path | bytes, *, otherwise: Path) -> tuple[datetime | None, bool]:
    """When a picture was taken, in whole seconds of local time: what the camera wrote, else the time of a file.

    And whether it is what the camera wrote.

    Args:
        image: The picture.
        otherwise: Whose time counts where the camera wrote none: the file itself, or the document around it.
    """
    taken = _camera_time(image)
    if taken is not None:
        return taken, True
    try:
        return datetime.fromtimestamp(int(otherwise.stat().st_mtime)), False
    except (OSError, ValueError, OverflowError):
        return None, False


def _camera_time(image: Path | bytes) -> datetime | None:
    import io

    try:
        with (
            pillow_silenced(),
            io.BytesIO(image) if isinstance(image, bytes) else image.open("rb") as stream,
            Pillow.open(stream, formats=FORMATS) as opened,
        ):
            exif = opened.getexif()
            camera = exif.get_ifd(_EXIF)
            times = (camera.get(_TAKEN), camera.get(_DIGITISED), exif.get(_CHANGED))
    except Exception:  # whatever is wrong with it is found and told when it is decoded
        return None
    for time in times:
        try:
            return datetime.strptime(str(time).strip().strip("\x00"), _CAMERA_TIME)
        except ValueError:
            continue
    return None
