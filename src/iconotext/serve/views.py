"""Files of a linked document for the browser: its reading view, its JSON, and its pictures.

``write_view`` writes the reading view and the JSON, ``read_files`` reads a document with the states of its files, and
``addressed`` gives pictures their addresses on the server.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from iconotext.errors import DocumentError
from iconotext.plain_text import json_text
from iconotext.read import ReadSettings, read_documents
from iconotext.read.address import MAX_LENGTH, SCHEME
from iconotext.serve.followed import File, files_now
from iconotext.system.files import write_bytes, write_text
from iconotext.types import Document

if TYPE_CHECKING:
    from iconotext.decide.settings import LinkSettings
    from iconotext.report.embedded import Embedded
    from iconotext.serve.work import Place
    from iconotext.types import LinkedDocument

_HINT = re.compile(r"[;:] [^;:]*\b(?:root|fetch|allow_outside|max_bytes)=(?:\.\.\.|True).*$")

KEPT = 16
"""Number of documents that a process caches, for pages that are written again."""


class Read(NamedTuple):
    """A document with its files.

    Attributes:
        files: Its file and those of its pictures, with their state when it was read.
    """

    document: Document
    sha256: str
    files: tuple[File, ...]


def read_files(place: Place) -> Read:
    """Read the document at a place, with its files; ``DocumentError`` if it cannot be read, or is no longer there."""
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
    """A document with problems of pictures that omit advice which only a person at this machine could follow."""
    images = (replace(each, problem=each.problem and without_hint(each.problem)) for each in document.images)
    return replace(document, images=tuple(images))


def without_hint(message: str) -> str:
    """A message without its end that names an argument of a function, which clients of a server cannot set."""
    return _HINT.sub("", message)


def _picture_files(document: Document, path: Path, within: Path) -> list[str]:
    found: set[str] = set()
    for image in document.images:
        if isinstance(image.file, Path):
            found.add(str(image.file))
        elif image.file is None and len(image.source) <= MAX_LENGTH and not SCHEME.match(image.source):
            beside = os.path.normpath(path.parent / unquote(image.source))
            if Path(beside).is_relative_to(within):
                found.add(beside)
    return sorted(found - {str(path)})


PAGE, LINKED, STAMP = "page.html", "linked.json", "stamp"
"""Files: the reading view, its JSON (like ``iconotext link --to json``), and the state from which both were made: the
``round`` of the collection and the last verdict on the document.
"""

KINDS = ("jpeg", "png")
"""Types and suffixes of the files of pictures."""


def write_view(
    linked: LinkedDocument, source: str, home: Path, leads: Mapping[str, str], stamp: str, settings: LinkSettings
) -> None:
    """Write the reading view, its JSON, and their stamp.

    Args:
        source: Path of the document in the JSON, without the folders of this machine.
        leads: Name to address of the pages to which the reading view links, besides the list of all documents; its
            pictures are corrected on the page of the review.
    """
    from iconotext.report.as_json import json_object

    page = page_of(linked, home, leads, settings, changed=False)
    (home / STAMP).unlink(missing_ok=True)
    write_text(home / PAGE, page, force=True)
    write_text(home / LINKED, json_text(json_object(linked) | {"source": source}) + "\n", force=True)
    write_text(home / STAMP, stamp, force=True)


def page_of(
    linked: LinkedDocument, home: Path, leads: Mapping[str, str], settings: LinkSettings, *, changed: bool
) -> str:
    """The reading view, with a form for its settings; ``changed``: whether they differ from the usual ones."""
    from iconotext.report.reading_page import reading_page

    pictures, correct = addressed(home, linked.document), f"{leads['Review']}&picture="
    return reading_page(
        linked, index="/", leads=leads, embedded=pictures, form=settings, changed=changed, correct=correct
    )


def embed_in(home: Path, document: Document, wanted: Iterable[int]) -> dict[int, Embedded]:
    """Embed some pictures of a document, and write a file of each into the folder of its results."""
    from iconotext.report.embedded import embed

    embedded = embed(document.images, wanted)
    for number, picture in embedded.items():
        written = None
        if picture.uri is not None:
            written, data = picture.content
            write_bytes(home / f"{number}.{written}", data, force=True)
        for kind in KINDS:
            if kind != written:
                (home / f"{number}.{kind}").unlink(missing_ok=True)
    return embedded


def picture_file(home: Path, number: int) -> Path | None:
    """The file of a picture; None if it does not exist."""
    return next((file for kind in KINDS if (file := home / f"{number}.{kind}").is_file()), None)


def picture_digest(data: bytes) -> str:
    """The digest in the address of a picture, which a browser may cache forever."""
    return hashlib.sha256(data).hexdigest()[:16]


def addressed(home: Path, document: Document) -> dict[int, Embedded]:
    """The pictures of a document by their addresses on this server; equal pictures have the same address.

    A picture without a file is embedded now, or has a ``problem``.

    Args:
        home: The folder of its results, which has its id as a name, and the files of ``embed_in``.
    """
    from PIL import Image as Pixels

    from iconotext.report.embedded import Embedded
    from iconotext.report.reading_page import shown_images

    shown = shown_images(document)
    pictures = embed_in(home, document, [number for number in shown if picture_file(home, number) is None])
    addresses: dict[str, str] = {}
    for number in shown:
        if (file := picture_file(home, number)) is not None:
            digest = picture_digest(file.read_bytes())
            address = f"/v1/documents/{home.name}/pictures/{number}?digest={digest}"
            with Pixels.open(file) as pixels:
                pictures[number] = Embedded(addresses.setdefault(digest, address), *pixels.size)
    return pictures
