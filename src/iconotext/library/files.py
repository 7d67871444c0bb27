"""The files to add to a library: find them, and read their kind, state, digest and date without decoding pictures.

Begin with ``find_files``; ``file_state`` and ``digest_of`` show whether a file or a picture is the same as before.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from PIL import Image as Pillow

from iconotext.corpus.shards import SUFFIXES as SHARDS
from iconotext.corpus.shards import find_shards
from iconotext.errors import CorpusError, OutputError
from iconotext.images.file import IMAGE_FORMATS, RAW, READERS, pillow_silenced
from iconotext.read import ReadSettings, find_documents, formats_by_suffix
from iconotext.read.find import is_excluded
from iconotext.system.files import content_digest
from iconotext.system.object_store import address_of, is_remote

IMAGES = RAW | {suffix for row in IMAGE_FORMATS if row.decoder != "svg" for suffix in row.suffixes}
"""Suffixes of pictures in folders; raw camera files are included only so that their users get advice."""

_OF_SHARDS = {f".{name.rpartition('.')[2]}" for name in SHARDS}  # only the last: ``.gz`` of ``.jsonl.gz``

_EXIF = 0x8769  # where the camera's own fields begin

_TAKEN, _DIGITISED, _CHANGED = 0x9003, 0x9004, 0x0132  # tags of times

_CAMERA_TIME = "%Y:%m:%d %H:%M:%S"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to add, and the named folder that contains it; None if the file itself was named."""

    path: Path
    folder: Path | None
    kind: Literal["picture", "document", "shard"]


def find_files(
    readings: Mapping[Path, ReadSettings], *, unread: list[tuple[str, str]], skipped: Counter[str] | None = None
) -> Iterator[SourceFile]:
    """Yield the different pictures, documents and shards at paths, by the same rules as ``find_documents``.

    Hidden files in folders are left out. A named file is a picture unless it has the suffix of a document or a shard.
    In folders, shards whose names begin with ``_`` are left out, as are tars with a shard's pictures.

    Args:
        readings: Absolute path of each file or folder to its settings, of which ``include`` and ``exclude`` are used.
        unread: The folders that cannot be listed are appended, with the reason.
        skipped: Counts files that are not added, as ``find_documents`` does.
    """
    skipped = Counter() if skipped is None else skipped
    suffixes = IMAGES | formats_by_suffix().keys() | _OF_SHARDS
    paths: set[Path] = set()
    for root, reading in readings.items():
        if is_remote(address_of(root)):
            yield from (file for file in _in_store(root, reading, unread) if file.path not in paths)
            continue
        for file, folder in find_documents([root], reading, suffixes=suffixes, skipped=skipped):
            if file in paths:
                continue
            hidden = folder is not None and file.name.startswith(".")
            if hidden or (folder and file.name.endswith(tuple(_OF_SHARDS)) and not _is_shard(file, folder)):
                skipped["hidden" if hidden else file.suffix.lower()] += 1
                continue
            paths.add(file)
            if (why := _not_listed(file)) is not None:
                unread.append((str(file), why))
            else:
                yield SourceFile(file, folder, file_kind(file) or "picture")


def _in_store(root: Path, reading: ReadSettings, unread: list[tuple[str, str]]) -> Iterator[SourceFile]:
    try:
        shards = find_shards([address_of(root)])
    except (CorpusError, OutputError) as error:
        unread.append((address_of(root), str(error).removeprefix(f"{address_of(root)}: ")))
        return
    for path in (Path(shard.file.address) for shard in shards):
        if path == root or not is_excluded(path, root, reading):
            yield SourceFile(path, None if path == root else root, "shard")


def _not_listed(file: Path) -> str | None:
    try:
        os.listdir(file)
    except NotADirectoryError:
        return None
    except OSError as error:
        return f"cannot be listed: {error.strerror}" if file.is_dir() else None
    return None


def file_kind(path: Path) -> Literal["picture", "document", "shard"] | None:
    """Return the kind of a file by its suffix; None for other files."""
    suffix = path.suffix.lower()
    if path.name.endswith(SHARDS):
        return "shard"
    return "picture" if suffix in IMAGES else "document" if suffix in formats_by_suffix() else None


def _is_shard(file: Path, folder: Path) -> bool:
    """Whether a file in a folder is a shard by its name, and does not belong to another shard."""
    if not file.name.endswith(SHARDS) or any(part.startswith("_") for part in file.relative_to(folder).parts):
        return False
    stem = str(file).removesuffix(".tar")
    return file.suffix != ".tar" or not any(os.path.isfile(stem + suffix) for suffix in SHARDS if suffix != ".tar")


def file_state(path: Path) -> str | None:
    """Return size and time of a file, which stand for its content; None if it is missing."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


def digest_of(image: Path | bytes) -> str:
    """Return the digest of a picture's content, 32 hexadecimal digits; ``OSError`` if the file cannot be read."""
    return content_digest(image).hex()[:32]


def image_date(image: Path | bytes, *, otherwise: Path) -> tuple[datetime | None, bool]:
    """Return when a picture was taken, in local time to the second, and whether that is the camera's date.

    Args:
        otherwise: File whose time is used without a camera's date: the picture's own, or the document around it.
    """
    date = _camera_time(image)
    if date is not None:
        return date, True
    try:
        return datetime.fromtimestamp(int(otherwise.stat().st_mtime)), False
    except (OSError, ValueError, OverflowError):
        return None, False


def _camera_time(image: Path | bytes) -> datetime | None:
    try:
        with (
            pillow_silenced(),
            io.BytesIO(image) if isinstance(image, bytes) else image.open("rb") as stream,
            Pillow.open(stream, formats=READERS) as opened,
        ):
            exif = opened.getexif()
            camera = exif.get_ifd(_EXIF)
            times = (camera.get(_TAKEN), camera.get(_DIGITISED), exif.get(_CHANGED))
    except Exception:  # a broken file is reported when it is decoded
        return None
    for time in times:
        try:
            return datetime.strptime(str(time).strip().strip("\x00"), _CAMERA_TIME)
        except ValueError:
            continue
    return None
