"""The documents of collections on the disk: find and read them, and compare the states of their files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

from iconotext.errors import DocumentError
from iconotext.plain_text import encodable, json_text, readable
from iconotext.read import ReadSettings, find_documents, read_documents, unique_names
from iconotext.read.address import MAX_LENGTH, SCHEME
from iconotext.types import Document

CACHED_DOCUMENTS = 16
"""Number of documents that a process caches, for pages that are written again."""

_HINT = re.compile(r"[;:] [^;:]*\bthe option (?:root|fetch|allow-outside|max-bytes)\b.*$")


NOT_UTF_8 = "its name, or that of a folder around it, is not UTF-8: rename it"


class Place(NamedTuple):
    """The place of a document; its file and its pictures must be in the folder ``within``."""

    path: str
    name: str
    within: str

    @property
    def relative(self) -> str:
        """The path relative to ``within``."""
        return Path(os.path.relpath(os.path.realpath(self.path), os.path.realpath(self.within))).as_posix()


class File(NamedTuple):
    """The state of a file at some time; None for a file that did not exist.

    Attributes:
        changed: Time of the last change of its contents, in nanoseconds since 1970.
        moved: Time of the last change of its metadata, including its name. A picture that was moved away and back has
            an old ``changed``, but a new ``moved``.
    """

    path: str
    changed: int | None
    moved: int | None
    size: int | None


class Reading(NamedTuple):
    """A document, the digest of its file, and the states of its file and of its pictures' files when it was read."""

    document: Document
    sha256: str
    files: tuple[File, ...]


def documents_in(
    start: str, within: str, most: int, labels: Mapping[str, str] = MappingProxyType({})
) -> tuple[tuple[str, str], ...]:
    """Name and path of each document of a file or folder.

    Args:
        within: The folder that must contain all files; links that lead out of it are not followed.
        labels: Names of files that were sent, see ``store.Saved``.

    Raises:
        DocumentError: There are more than ``most``, or one has a name that is not UTF-8.
    """
    inside = []
    for path, _ in find_documents([start]):
        if is_inside(path, within):
            if not is_utf_8(str(path)):  # neither the database nor an address can have it
                raise DocumentError(f"{readable(os.path.relpath(path, within))}: {NOT_UTF_8}")
            inside.append(path)
        if len(inside) > most:
            raise DocumentError(f"more than {most:,} documents: open a part of it")
    relative = [path.relative_to(start) if path != Path(start) else path for path in inside]
    names = unique_names([Path(labels.get(path.as_posix(), path)) for path in relative])
    return tuple((name, str(path)) for name, path in zip(names, inside, strict=True))


def is_inside(path: Path | str, folder: Path | str) -> bool:
    """Whether a path is in a folder once links are followed; a link to itself is where it lies."""
    try:
        # Not ``Path.resolve``, which fails for a link to itself.
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except ValueError:  # a name with a zero byte, which no file has
        return False


def is_utf_8(name: str) -> bool:
    """Whether the name of a file can be written as UTF-8."""
    return encodable(name) == name


def files_now(paths: Iterable[str]) -> tuple[File, ...]:
    """The present states of files."""
    return tuple(_state(path) for path in paths)


def _state(path: str) -> File:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return File(path, None, None, None)
    return File(path, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def read_place(place: Place) -> Document:
    """Read the document at a place; ``DocumentError`` if it cannot be read, or is no longer there."""
    return read_files(place).document


def read_files(place: Place) -> Reading:
    """Read the document at a place, with the states of its files; errors as for ``read_place``."""
    path = Path(place.path)
    (file,) = files_now([place.path])
    if not is_inside(path, place.within):
        raise DocumentError(f"{path.name}: a link that leads out of the folder")
    reading = _read(place, file)
    # The key of the cache has the state of the document's own file, not those of its pictures.
    if files_now(file.path for file in reading.files) != reading.files:
        _read.cache_clear()
        reading = _read(place, file)
    return reading


@lru_cache(CACHED_DOCUMENTS)
def _read(place: Place, source: File) -> Reading:
    path, within = Path(place.path), Path(place.within)
    if path.exists() and not path.is_file():  # opening a pipe waits until somebody writes into it
        raise DocumentError(f"{path.name}: a pipe or a device, not a file")
    try:
        with path.open("rb") as file:  # before reading: the file may change later; in chunks: it may be huge
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DocumentError(f"{path.name}: cannot be read: {error.strerror}") from error
    (document,) = read_documents(path, ReadSettings(), within=within, identifier=place.name)
    document = for_clients(document)
    return Reading(document, sha256, (source, *files_now(_picture_files(document, path, within))))


def _picture_files(document: Document, path: Path, within: Path) -> list[str]:
    files: set[str] = set()
    for image in document.images:
        if isinstance(image.file, Path):
            files.add(str(image.file))
        elif image.file is None and len(image.source) <= MAX_LENGTH and not SCHEME.match(image.source):
            beside = os.path.normpath(path.parent / unquote(image.source))  # missing now, and may come later
            if is_inside(beside, within):
                files.add(beside)
    return sorted(files - {str(path)})


def digest(document: Document) -> str:
    """Digest of the text and the pictures of a document: verdicts are about a version of it."""
    content = [[s.text for s in document.sentences], [image.source for image in document.images]]
    return hashlib.sha256(json_text(content).encode()).hexdigest()


def for_clients(document: Document) -> Document:
    """A document with problems of pictures that omit advice which only a person at this machine could follow."""
    images = (replace(image, problem=image.problem and without_hint(image.problem)) for image in document.images)
    return replace(document, images=tuple(images))


def without_place(message: str, path: str) -> str:
    """A message about a document for clients: without its path, and without advice that they cannot follow."""
    return without_hint(message.replace(f"{path}: ", "").replace(path, Path(path).name))


def without_hint(message: str) -> str:
    """A message without its end that names an argument of a function, which clients of a server cannot set."""
    return _HINT.sub("", message)
