"""Functions that the search processes run. The library and its models stay open between searches."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, StringConstraints

from iconotext.errors import IconotextError, ImageError, SettingError
from iconotext.library.candidates import make_filters
from iconotext.library.commit import THUMBNAIL
from iconotext.library.files import digest_of
from iconotext.library.items import file_content, member_content
from iconotext.library.search import Query, Result, Searcher, has_good_match
from iconotext.library.settings import read_settings
from iconotext.plain_text import shortened
from iconotext.report.embedded import LONGER_SIDE, Embedded, embed
from iconotext.serve.answers import Described
from iconotext.serve.results import picture_file
from iconotext.system.files import write_bytes
from iconotext.types import Image

MOST = 1000
"""Maximum number of results."""

PictureId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""The id of a picture: a digest of its content."""

Size = Literal["small", "large"]
"""The size at which a picture is shown."""


class SearchIn(Described):
    """A search by a sentence, a picture, or both, with the options of ``iconotext search``."""

    sentence: str | None = Field(None, max_length=1000, description="A sentence that the picture should fit.")
    picture: PictureId | None = Field(
        None, description="A picture of the library, or one that was sent, to be similar to."
    )
    relation: str | None = Field(None, max_length=80, description="How picture and sentence should relate.")
    top: int = Field(10, ge=1, le=MOST, description="Largest number of results.")
    folder: str | None = Field(None, max_length=4096, description="Only pictures in it, or of documents in it.")
    since: str | None = Field(None, max_length=10, description="Taken in or after: 2024, 2024-05, 2024-05-31.")
    until: str | None = Field(None, max_length=10, description="Taken in or before.")
    anyway: bool = Field(False, description="Return as many pictures even if none is a good match.")


class LibraryNames:
    """Names of files, relative to the added folders: names of files in ``/home/ada/photos`` begin with ``photos``.

    Args:
        roots: The files and folders that were added, absolute; none is inside another.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        # The name of a root is the shortest end of its path with which no other root ends.
        parts = {root: PurePath(root).parts[1:] for root in roots}
        ends = Counter(end for p in parts.values() for end in _ends(p))
        self._names = {
            root: "/".join(next((end for end in _ends(p) if ends[end] == 1), p)) for root, p in parts.items()
        }
        self._roots = {name: root for root, name in self._names.items()}

    @property
    def roots(self) -> list[str]:
        """The names of the added files and folders."""
        return sorted(self._roots)

    def name(self, place: str) -> str:
        """The name of a file, or of an image in a file (``a.docx#image-3``); addresses on the web are unchanged."""
        if "://" in place[:12]:
            return place
        for root in (place, place.rpartition("#")[0], *_above(place)):
            if root in self._names:
                return self._names[root] + place.removeprefix(root)
        return "/".join(PurePath(place).parts[-2:])  # a picture of a document that is elsewhere

    def folder(self, name: str) -> str | None:
        """The folder with a name; None if nothing in it was added. Does not access the disk."""
        path = name.strip().strip("/")
        root = next((folder for folder in (path, *_above(path)) if folder in self._roots), None)
        return None if root is None else self._roots[root] + path.removeprefix(root)


def _ends(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The last part of a path, the last two, ..., all."""
    return (parts[-count:] for count in range(1, len(parts) + 1))


def _above(path: str) -> Iterator[str]:
    """The parent folders of a file, nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


EXAMPLES = 500
"""Number of examples that are stored; the oldest are removed."""

FOLDERS = 100
"""Number of added folders that the page offers."""

SIDES: dict[Size, int] = {"small": THUMBNAIL, "large": LONGER_SIDE}
"""Longer side in pixels."""


class About(NamedTuple):
    """The description of a library on the page, with the names of at most ``FOLDERS`` added files and folders."""

    library: str
    pictures: int
    relations: tuple[str, ...]
    folders: tuple[str, ...]


class Findings(NamedTuple):
    """The results of a search.

    Attributes:
        names: For each result, the names of its picture and of its document.
        good: Whether one of them is a good match.
        note: Which part of the query was not used, and why.
    """

    about: About
    query: Query
    results: list[Result]
    names: list[tuple[str, str | None]]
    good: bool
    more: bool
    note: str | None


_searchers: dict[str, Searcher] = {}


def prepare(library: str) -> None:
    """Set the library to search; it is opened when first needed, and again when it has changed."""
    _searchers["served"] = Searcher(Path(library))


def about() -> About:
    """Describe the library; ``IconotextError`` if it or one of its models cannot be opened."""
    with _without_paths() as searcher:
        library = searcher.library
        folders = _names(library.settings.roots).roots[:FOLDERS]
        return About(library.path.resolve().name, library.count(), searcher.relations, tuple(folders))


def find(body: SearchIn, examples: str) -> Findings:
    """Search the library, with the pictures in the folder ``examples``, which ``keep_example`` stored.

    Raises:
        SettingError: The search is not valid.
        ImageError: The example picture does not exist.
        IconotextError: As for ``about``.
    """
    described = about()
    filters = make_filters(None, body.since or None, body.until or None)
    if body.folder:
        with _without_paths() as searcher:
            folder = _names(searcher.library.settings.roots).folder(body.folder)
        if folder is None:
            roots = ", ".join(described.folders)
            raise SettingError(f"{body.folder}: no folder of this library; they begin with: {shortened(roots, 200)}")
        filters = replace(filters, folder=folder)
    example = body.picture and picture_file(Path(examples), body.picture)
    query = Query(body.sentence, example or body.picture, body.relation or None, body.top, filters, body.anyway)
    with _without_paths() as searcher:
        library, query, results, note = searcher.find(query)
        itself = isinstance(query.picture, str)  # a picture of the library is no result of its own search
        more = len(results) == body.top < MOST and library.count(filters.condition) - itself > body.top
    names = _names(library.settings.roots).name
    pairs = [(names(r.image), None if r.document is None else names(r.document)) for r in results]
    return Findings(described, query, results, pairs, has_good_match(results), more, note)


def picture(digest: str, size: Size, examples: str) -> tuple[str, bytes]:
    """Media type and bytes of a picture in the library, or of an example, reduced to the size shown.

    Raises:
        ImageError: It does not exist, or its file is gone or has changed.
        IconotextError: As for ``about``.
    """
    example = picture_file(Path(examples), digest)
    if example is not None:
        return example.suffix.removeprefix("."), example.read_bytes()
    with _without_paths() as searcher:
        item = searcher.library.items([digest]).get(digest)
    if item is None:
        raise ImageError("there is no such picture in the library")
    for place in item.places:
        data = None if place.file is None else file_content(Path(place.file), digest)
        if data is None and place.member is not None:
            data = member_content(place.member, digest)
        if data is not None:
            embedded = embed([Image("", data)], [0], longer_side=SIDES[size])[0]
            if embedded.uri is not None:
                return embedded.content
    if item.thumbnail is not None:
        return Embedded(item.thumbnail).content
    raise ImageError("its file is gone, or has another picture by now: bring the library up to date")


def keep_example(folder: str, examples: str) -> str:
    """Store the single file in a folder as an example, without the camera's metadata; returns its id.

    Raises:
        ImageError: It is not a picture, or there are several files.
    """
    files = [file for file in sorted(Path(folder).rglob("*")) if file.is_file()]
    if len(files) != 1:
        raise ImageError(f"{len(files)} files came: send one picture")
    embedded = embed([Image("", files[0])], [0])[0]
    if embedded.uri is None:
        raise ImageError(f"no picture that can be read: {embedded.problem}")
    kind, data = embedded.content
    digest = digest_of(data)
    write_bytes(Path(examples) / f"{digest}.{kind}", data, force=True)
    oldest_first = sorted(Path(examples).glob("*.*"), key=lambda file: (file.stat().st_mtime_ns, file.name))
    for file in oldest_first[:-EXAMPLES]:
        file.unlink(missing_ok=True)
    return digest


@lru_cache(1)
def _names(roots: tuple[str, ...]) -> LibraryNames:
    return LibraryNames(roots)


@contextmanager
def _without_paths() -> Iterator[Searcher]:
    """The searcher; errors are reported without the paths of the library and its models."""
    searcher = _searchers["served"]
    try:
        yield searcher
    except IconotextError as error:
        places = {str(searcher.path), str(searcher.path.resolve())}
        with suppress(IconotextError):
            settings = read_settings(searcher.path)
            places |= {settings.model, settings.relations_from}
        message = str(error)
        for place in sorted(filter(os.path.isabs, places), key=len, reverse=True):  # one may begin with another
            message = message.replace(place, Path(place).name)
        raise type(error)(message) from None
