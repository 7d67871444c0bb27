"""Reads a document of a collection, with the state of all files that it depends on."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from iconotext.errors import DocumentError
from iconotext.read import ReadSettings, read_documents
from iconotext.read.address import MAX_LENGTH, SCHEME
from iconotext.serve.followed import File, files_now
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.serve.work import Place

_HINT = re.compile(r"[;:] [^;:]*\b(?:root|fetch|allow_outside|max_bytes)=(?:\.\.\.|True).*$")

KEPT = 16
"""Number of read documents that a process keeps, for pages that are made again."""


class Read(NamedTuple):
    """A document with its files.

    Attributes:
        files: Its file and those of its pictures, with their state when it was read.
    """

    document: Document
    sha256: str
    files: tuple[File, ...]


def read_files(place: Place) -> Read:
    """The current document at a place; ``DocumentError`` if it cannot be read, or is no longer there."""
    path = Path(place.path)
    (own,) = files_now([place.path])
    if not path.resolve().is_relative_to(Path(place.within).resolve()):
        raise DocumentError(f"{path.name}: a link that leads out of the folder")
    read = _read(place, own)
    if files_now(file.path for file in read.files) != read.files:  # a picture has changed
        _read.cache_clear()
        read = _read(place, own)
    return read


@lru_cache(KEPT)
def _read(place: Place, own: File) -> Read:
    settings, path = ReadSettings(), Path(place.path)
    try:
        with path.open("rb") as file:  # before reading: the file may change later; in pieces: it may be huge
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DocumentError(f"{path.name}: cannot be read: {error.strerror}") from error
    (document,) = read_documents(path, settings, within=Path(place.within), identifier=place.name)
    document = for_clients(document)
    return Read(document, sha256, (own, *files_now(_picture_files(document, path, Path(place.within)))))


def for_clients(document: Document) -> Document:
    """A document whose pictures' problems say nothing that only somebody at this machine can do."""
    images = (replace(each, problem=each.problem and without_hint(each.problem)) for each in document.images)
    return replace(document, images=tuple(images))


def without_hint(message: str) -> str:
    """A message without its end that names an argument of a function: clients of a server can give none."""
    return _HINT.sub("", message)


def _picture_files(document: Document, path: Path, within: Path) -> list[str]:
    """The files of a document's pictures, including files that are missing."""
    found: set[str] = set()
    for image in document.images:
        if isinstance(image.file, Path):
            found.add(str(image.file))
        elif image.file is None and len(image.source) <= MAX_LENGTH and not SCHEME.match(image.source):
            beside = os.path.normpath(path.parent / unquote(image.source))
            if Path(beside).is_relative_to(within):
                found.add(beside)
    return sorted(found - {str(path)})
