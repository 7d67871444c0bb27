"""Uploads: save the files that a client sends (``received``). A refused file does not affect the others.

Names come from strangers: every file must stay in the folder of its upload, and zips are unpacked within the limits of
``read.archive``. A file keeps its name if the file system and the files beside it allow that, since documents name
their pictures; otherwise its name is changed as little as possible, and the old one is its label.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from fastapi import HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from iconotext.errors import DocumentError, HostileDocumentError, IconotextError, OutputError
from iconotext.plain_text import encodable, readable, shortened
from iconotext.read.archive import Archive, open_archive
from iconotext.read.format import suffix_format
from iconotext.serve.guard import too_large
from iconotext.serve.store import Saved
from iconotext.system.files import write_bytes

if TYPE_CHECKING:
    from iconotext.serve.jobs import Jobs
    from iconotext.serve.settings import ServeSettings

MAX_DEPTH = 20
"""Maximum depth of folders in a file's name."""

MAX_NAME = 255
"""Maximum length in bytes of each part of a file's name on the disk."""

CHUNK = 2**20
"""Bytes of a file that are in memory at a time."""

_IMPOSSIBLE = re.compile(
    r'[\x00-\x1f\x7f<>:"|?*\ud800-\udfff]|[. ]+$' if sys.platform == "win32" else "[\x00\ud800-\udfff]"
)
"""Characters that names of files cannot have on this system."""

_IN_FORMS = {"%22": '"', "%0D": "\r", "%0A": "\n"}
"""Browsers escape these characters in the names of files in a form, and no others (not ``%`` itself)."""


def form_name(name: str) -> str:
    """The name of a file that was sent with a form, without the escapes of browsers."""
    return re.sub("|".join(_IN_FORMS), lambda match: _IN_FORMS[match[0]], name)


def place_of(name: str) -> PurePosixPath:
    """The path of a file below the folder of its upload: its name, as far as the file system allows.

    Raises:
        HostileDocumentError: The name leads out of the folder, is too deep, or is empty.
    """
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise HostileDocumentError("its name leads out of the folder that was sent (..)")
    if len(parts) > MAX_DEPTH:
        raise HostileDocumentError(f"it lies in more than {MAX_DEPTH} folders")
    if not parts:
        raise HostileDocumentError("it has no name")
    return PurePosixPath(*map(_possible, parts))


def _possible(part: str) -> str:
    part = _IMPOSSIBLE.sub("_", part)
    if len(part.encode()) <= MAX_NAME:
        return part
    suffix = PurePosixPath(part).suffix if len(PurePosixPath(part).suffix) < 16 else ""  # a longer one is none
    ending = f"~{hashlib.sha256(part.encode()).hexdigest()[:8]}{suffix}"
    # Cut in bytes, which file systems count; a letter that is cut in two is left out.
    return part.encode()[: MAX_NAME - len(ending.encode())].decode(errors="ignore") + ending


async def received(request: Request, folder: Path, jobs: Jobs) -> tuple[str, Saved]:
    """Save the files of a request in a new folder; returns a name for them, and the outcome of the upload.

    Raises:
        HTTPException: There are no files, too many or too large ones, or all of them are refused.
    """
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise HTTPException(415, "send files as multipart/form-data, each as files=@NAME")
    async with request.form(max_files=jobs.settings.max_files, max_fields=8) as form:
        sent = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
        if not sent:
            raise HTTPException(400, "no files came: send each as files=@NAME")
        if sum(file.size or 0 for file in sent) > jobs.settings.max_upload:
            raise HTTPException(413, too_large(jobs.settings).strip())
        files = [(form_name(file.filename or ""), file.file) for file in sent]
        try:
            async with jobs.unpacking_slots:
                saved = await run_in_threadpool(save_files, files, folder, jobs.settings)
        except IconotextError as error:
            raise HTTPException(400, str(error).replace(f"{folder}/", "")) from None
        refused = {name for name, _ in saved.refused}
        names = [name for name, _ in files]
        return _upload_name([name for name in names if shortened(readable(name), 255) not in refused] or names), saved


def _upload_name(files: Sequence[str]) -> str:
    """A name for an upload: of its first document, or of the folder that has it, and how many more there are."""
    paths = [name.replace("\\", "/").strip("/") for name in files]
    names = map(PurePosixPath, paths)
    documents = [str(name) for name in names if name.suffix.lower() == ".zip" or suffix_format(name)] or paths
    more = f" and {len(documents) - 1:,} more" if len(documents) > 1 and "/" not in documents[0] else ""
    return shortened(readable(documents[0].split("/")[0]), 80 - len(more)) + more


def save_files(files: Iterable[tuple[str, BinaryIO]], folder: Path, settings: ServeSettings) -> Saved:
    """Write files, and the contents of zips, into a new folder, which is removed after an error.

    Raises:
        HostileDocumentError: There are too many files.
        DocumentError: All files are refused.
        OutputError: The disk is full.
    """
    folder.mkdir(parents=True)
    try:
        upload = _Upload(folder, settings)
        for name, content in files:
            if PurePosixPath(name).suffix.lower() == ".zip":
                upload.unpack(name, content)
            else:
                upload.left -= content.seek(0, os.SEEK_END)
                content.seek(0)
                upload.add(name, iter(partial(content.read, CHUNK), b""))
            if len(upload.files) > settings.max_files:
                raise HostileDocumentError(f"more than {settings.max_files:,} files: send a part of them")
        if not upload.files:
            refused = "; ".join(f"{name}: {why}" for name, why in upload.saved.refused[:3])
            raise DocumentError(refused or "no file came")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return upload.saved


class _Upload:
    """The files of one upload."""

    def __init__(self, folder: Path, settings: ServeSettings) -> None:
        self.folder, self.settings, self.saved = folder, settings, Saved()
        self.left = settings.max_upload  # bytes that may still come, with the contents of zips
        self.files: dict[str, PurePosixPath] = {}  # label and path of each file that was written

    def add(self, name: str, data: bytes | Iterable[bytes]) -> None:
        try:
            place = self._free(place_of(name))
            write_bytes(self.folder / place, data)
        except HostileDocumentError as error:
            self.saved.refuse(name, str(error))
            return
        except OutputError as error:
            if getattr(error.__cause__, "errno", None) not in (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ):
                raise  # for example, the disk is full
            self.saved.refuse(name, "its name with its folders is too long for the file system")
            return
        label = encodable(name.replace("\\", "/").strip("/"))
        if label in self.files:  # two files came with one name
            label = str(place)
        self.files[label] = place
        if label != str(place):
            self.saved.labels[str(place)] = label

    def unpack(self, name: str, content: BinaryIO) -> None:
        """Write the files in a zip; none of them if the zip is damaged, or has too much in it."""
        packed = self.folder.with_name(f"{self.folder.name}.zip")
        before, left = dict(self.files), self.left
        try:
            with packed.open("wb") as file:
                shutil.copyfileobj(content, file)
            with open_archive(packed, self.left) as archive:
                self._members(name, archive)
        except DocumentError as error:
            limit = ", which `iconotext serve --max-upload` sets"
            self.saved.refuse(name, str(error).replace(": the option max-bytes raises it", limit))
            for label in self.files.keys() - before.keys():
                place = self.files.pop(label)
                self.saved.labels.pop(str(place), None)
                (self.folder / place).unlink()
            self.left = left
        finally:
            packed.unlink(missing_ok=True)

    def _members(self, name: str, archive: Archive) -> None:
        members = [member for member in archive.names if not _is_of_the_system(member)]
        if len(self.files) + len(members) > self.settings.max_files:
            raise HostileDocumentError(f"{len(members):,} files in it: at most {self.settings.max_files:,} may come")
        for member in members:
            try:
                data = archive.unpack(member)
            except HostileDocumentError:
                raise
            except DocumentError as error:
                self.saved.refuse(f"{name}/{member}", str(error))
            else:
                self.left -= len(data)
                self.add(member, data)

    def _free(self, place: PurePosixPath) -> PurePosixPath:
        """The place, or one beside it if its name is taken; some file systems ignore case."""
        path = PurePosixPath()
        for part in place.parts[:-1]:
            path = next(candidate for candidate in _beside(path / part) if not os.path.isfile(self.folder / candidate))
        return next(name for name in _beside(path / place.name) if not os.path.lexists(self.folder / name))


def _beside(path: PurePosixPath) -> Iterator[PurePosixPath]:
    """A path, then the same with ``(2)``, ``(3)`` and so on behind its name."""
    return chain([path], (path.with_name(f"{path.stem} ({number}){path.suffix}") for number in count(2)))


def _is_of_the_system(name: str) -> bool:
    """Whether a file in a zip is a hidden one of an operating system."""
    return name.startswith("__MACOSX/") or PurePosixPath(name).name in (".DS_Store", "Thumbs.db")
