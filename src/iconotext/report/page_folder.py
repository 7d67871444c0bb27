"""A folder of reading pages with its index page, updated by each run; only files that iconotext wrote are changed."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import stat
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from itertools import count as count_from
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from iconotext.errors import IconotextError, OutputError
from iconotext.plain_text import readable
from iconotext.read import Failure
from iconotext.report.embedded import Embedded, embed
from iconotext.report.flow import title
from iconotext.report.page import filled, is_untouched, sealed
from iconotext.report.problems import NAME as PROBLEMS
from iconotext.report.problems import Problem, is_problem_table, problem_table
from iconotext.report.reading_page import embed_shown, reading_page
from iconotext.report.terminal import Counts, count
from iconotext.system.files import check_overwrite, content_digest, write_bytes, write_error, write_text
from iconotext.system.threads import thread_pool
from iconotext.types import Document, LinkedDocument

GONE = "gone"
"""Used instead of the digest of a file that cannot be read."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The sources of a page: its document, its files and the settings.

    Attributes:
        source: The document's file, as an address relative to the folder of pages.
        part: The document within the file; "" if the file is a single document.
        number: Its position among the documents of the file, from 0.
        parts: Number of documents in the file.
        setup: Digest of the settings, the model and the version of the program.
        content: Digest of the document as it was read, with its images.
        files: Address to digest, for the document's file and the image files; the document is unchanged while these
            are. None if an image was missing, since it may exist later.
    """

    source: str
    part: str
    number: int
    parts: int
    setup: str
    content: str
    files: dict[str, str] | None


class Places:
    """Converts files to addresses relative to a folder and back, so that files and folder can be moved together."""

    def __init__(self, folder: Path) -> None:
        self._home = os.path.realpath(folder)

    def address(self, file: Path | str) -> str:
        """Return the address of a file; an absolute one if it is on another drive."""
        try:
            relative = os.path.relpath(os.path.abspath(file), self._home)
        except ValueError:
            relative = os.path.abspath(file)
        return quote(os.fsencode(relative.replace(os.sep, "/")))

    def file(self, address: str) -> Path:
        """Return the file at an address."""
        return Path(os.path.normpath(os.path.join(self._home, os.fsdecode(unquote_to_bytes(address)))))


def origin_of(
    document: Document, file: Path, part: str, *, number: int, parts: int, setup: str, places: Places
) -> Origin:
    """Return the origin of a document's page; arguments as in ``Origin``."""
    source = places.address(os.path.realpath(file))
    files: dict[str, str] = {source: _file_digest(file)}
    digests: list[str | None] = []
    for image in document.images:
        if isinstance(image.file, Path):
            files[places.address(image.file)] = digest = _file_digest(image.file)
            digests.append(digest)
        else:
            digests.append(None if image.file is None else content_digest(image.file).hex())
    images = [replace(image, file=None) for image in document.images]
    content = repr((title(document), document.language, document.sentences, images, digests))
    content = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return Origin(source, part, number, parts, setup, content, None if None in digests else files)


def _file_digest(file: Path) -> str:
    try:
        if not file.is_file():  # reading a pipe would block
            return GONE
        return content_digest(file).hex()
    except OSError:
        return GONE


NAME = ".iconotext-pages.jsonl"
"""The file of the records."""

MAX_BYTES = 2**30
"""Maximum size of this file; a million pages take about half of it."""

_BEGIN = b'{"page":'
_INLINE = re.compile(r"data:image/(png|jpeg|webp);base64,[A-Za-z0-9+/=]*")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # not on Windows


def _inline(image: Embedded | None) -> Embedded | None:
    """Return the image if it is embedded in the record; an index must not load anything else."""
    if image is not None and image.uri is not None and not _INLINE.fullmatch(image.uri):
        raise ValueError("not an image within the record")
    return image


@dataclass(frozen=True, slots=True)
class Record:
    """A page.

    Attributes:
        language: ISO 639-1 code.
        picture: The image with the strongest link, reduced; None without links.
    """

    page: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]+\.html$")]
    origin: Origin
    counts: Counts
    language: str
    picture: Annotated[Embedded | None, AfterValidator(_inline)]


class Manifest:
    """The records of a folder by page, on disk as JSON lines; a line is added as soon as its page is written.

    A line may be cut off if the program was killed or the disk was full: only its page is made again. Symbolic links,
    pipes and other programs' files under the same name are not touched.

    Raises:
        OutputError: Such a file exists, or the file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self.records: dict[str, Record] = {}
        lines = self._lines()
        for line in lines:
            try:
                record = _adapter().validate_json(line)
            except ValidationError:
                continue
            self.records[record.page] = record
        if len(self.records) < len(lines):  # some are cut off, or of pages that were made again
            self.rewrite(self.records.values())

    def add(self, record: Record) -> None:
        """Record a page that was written; ``OutputError`` if the line cannot be written."""
        self.records[record.page] = record
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_FOLLOW
            with open(os.open(self._path, flags, 0o666), "ab") as file:
                file.write(_adapter().dump_json(record) + b"\n")
        except OSError as error:
            raise write_error(self._path, error) from error

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace all records; ``OutputError`` if the file cannot be written."""
        self.records = {record.page: record for record in records}
        lines = (_adapter().dump_json(record) + b"\n" for record in self.records.values())
        write_bytes(self._path, lines, force=True)

    def _lines(self) -> list[bytes]:
        try:
            status = self._path.lstat()
            is_ours = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
            data = self._path.read_bytes() if is_ours else b""
        except FileNotFoundError:
            return []
        except OSError as error:
            raise write_error(self._path, error) from error
        if not is_ours or not data.startswith(_BEGIN[: len(data)]):  # the first line may be cut off
            raise OutputError(f"{self._path} exists already, and iconotext did not write it; move it away")
        return data.splitlines()


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


INDEX = "index.html"

Updated = tuple[Path, Record, LinkedDocument | None]
"""A file, the record of its page, and the linked document; None if nothing has changed."""


class WithoutPictures(NamedTuple):
    """A document without any picture, which gets no page."""

    file: Path


LinkAll = Callable[[Iterable[Document]], Iterable[LinkedDocument | Failure]]
"""Links documents, in order."""


class Source(NamedTuple):
    """A file of a run.

    Attributes:
        identifier: Prefix of the ids of its documents.
        every: Whether documents without pictures get a page, too.
    """

    file: Path
    identifier: str
    read: Callable[[], Sequence[Document]]
    every: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class _ToLink:
    file: Path
    document: Document
    page: str
    origin: Origin
    pictures: Future[dict[int, Embedded]]


class PageFolder:
    """Pages of linked documents, with an index, and records from earlier runs.

    A page is replaced or removed only if it is unchanged since it was written; files of the user, and pages that
    somebody changed, stay. With ``force`` they are replaced, and every page is made again.

    Args:
        folder: Created when the first page is written.
        setup: Digest of everything that decides a page besides the document: settings, model, version of the program.
        sources: Documents of this run, which no page may replace, not even with ``force``.

    Raises:
        OutputError: The index cannot be written, since a file of the user has its name.
    """

    def __init__(self, folder: Path, *, setup: str = "", force: bool = False, sources: Iterable[Path] = ()) -> None:
        self.folder = folder
        self._places = Places(folder)
        self._setup, self._force = setup, force
        self._sources = set(map(os.path.realpath, sources))
        self._check_page(folder / INDEX)
        if not force and (folder / PROBLEMS).exists() and not is_problem_table(folder / PROBLEMS):
            raise OutputError(f"{folder / PROBLEMS} exists already, and iconotext did not write it; move it away")
        self._manifest = Manifest(folder)
        self._earlier: dict[str, dict[str, Record]] = {}  # by source and part
        self._used_names = {"index"}
        for record in self._manifest.records.values():
            self._earlier.setdefault(record.origin.source, {})[record.origin.part] = record
            # The name of a page whose document is gone is free again.
            if os.path.lexists(self._places.file(record.origin.source)):
                self._used_names.add(record.page.removesuffix(".html").casefold())
        self._current: set[str] = set()  # pages of this run
        self._visited: set[str] = set()  # sources of this run

    def update(self, sources: Iterable[Source], link: LinkAll) -> Iterator[Updated | Failure | WithoutPictures]:
        """Update the pages of files, in order; unchanged documents are not linked, and if possible not read.

        Args:
            link: Links documents in order, and may take some ahead; called only if there are any. Its errors are not
                about one document, and end the run.
        """
        queue: deque[Updated | Failure | WithoutPictures | _ToLink] = deque()  # in order; results of linking come later

        def documents() -> Iterator[Document]:
            for entry in chain.from_iterable(self._examine(source, beside) for source in sources):
                queue.append(entry)
                if isinstance(entry, _ToLink):
                    yield entry.document

        with thread_pool(1) as beside:
            to_link = documents()
            for first in to_link:  # so that nothing is linked, and no model loaded, without a first one
                for linked in link(chain([first], to_link)):
                    # What stands in the queue before this document needed no linking.
                    while not isinstance(item := queue.popleft(), _ToLink):
                        yield item
                    if isinstance(linked, Failure):
                        yield Failure(item.file, linked.error)
                        continue
                    card = beside.submit(card_image, linked)
                    html = reading_page(linked, index=INDEX, embedded=item.pictures.result())
                    yield item.file, self._write(linked, html, item.page, item.origin, card.result()), linked
            yield from (entry for entry in queue if not isinstance(entry, _ToLink))

    def _examine(self, source: Source, beside: Executor) -> Iterator[Updated | Failure | WithoutPictures | _ToLink]:
        """Yield results for a file that need no linking, and the documents in it that must be linked."""
        file = source.file
        place = self._places.address(os.path.realpath(file))
        earlier = self._earlier.get(place, {})
        self._visited.add(place)
        if self._is_unchanged(earlier) and (source.every or all(record.counts.pictures for record in earlier.values())):
            for record in sorted(earlier.values(), key=lambda record: record.origin.number):
                self._current.add(record.page)
                yield file, record, None
            return
        try:
            documents = source.read()
        except IconotextError as error:
            self._current.update(record.page for record in earlier.values())  # the last good pages
            yield Failure(file, error)
            return
        for number, document in enumerate(documents):
            if not source.every and not document.images:
                yield WithoutPictures(file)
                continue
            part = document.id.removeprefix(source.identifier)
            origin = origin_of(
                document, file, part, number=number, parts=len(documents), setup=self._setup, places=self._places
            )
            old = earlier.get(part)
            if old is not None:
                self._current.add(old.page)
                if self._has_page_for(old, origin):
                    yield file, self._keep(old, origin), None
                    continue
            page = self._new_name(document.id, file, part) if old is None else old.page
            try:
                self._check_page(self.folder / page)
            except IconotextError as error:
                yield Failure(file, error)
            else:
                yield _ToLink(file, document, page, origin, beside.submit(embed_shown, document))

    def finish(self, folders: Iterable[Path] = (), problems: Sequence[Problem] = ()) -> int:
        """Remove the pages of deleted documents and return their number; write the index and the list of problems."""
        walked = [Path(os.path.realpath(folder)) for folder in folders]
        self._manifest = Manifest(self.folder)  # another run may have written here meanwhile
        records = self._manifest.records.values()
        gone = [record for record in records if record.page not in self._current and self._is_gone(record, walked)]
        removed = 0
        for record in gone:
            if is_untouched(self.folder / record.page):
                _remove(self.folder / record.page)
                removed += 1
        if gone:
            pages = {record.page for record in gone}
            self._manifest.rewrite([record for record in records if record.page not in pages])
        listed = sorted(
            self._manifest.records.values(), key=lambda record: (unquote(record.origin.source), record.origin.number)
        )
        if listed or removed:
            self._put(self.folder / INDEX, sealed(index_page(listed)))
        table = self.folder / PROBLEMS
        if problems:
            write_text(table, problem_table(problems), force=True)
        elif is_problem_table(table):
            _remove(table)
        return removed

    def _is_unchanged(self, records: Mapping[str, Record]) -> bool:
        return bool(records) and all(
            not self._force
            and (self.folder / record.page).is_file()
            and record.origin.setup == self._setup
            and record.origin.parts == len(records)
            and record.origin.files is not None
            and all(_file_digest(self._places.file(at)) == digest for at, digest in record.origin.files.items())
            for record in records.values()
        )

    def _has_page_for(self, old: Record, origin: Origin) -> bool:
        """Return whether the existing page is up to date for a document that was read."""
        same = (old.origin.setup, old.origin.content) == (origin.setup, origin.content)
        return same and not self._force and (self.folder / old.page).is_file()

    def _keep(self, old: Record, origin: Origin) -> Record:
        record = replace(old, origin=origin)
        if record != old:
            self._manifest.add(record)
        return record

    def _is_gone(self, record: Record, walked: Sequence[Path]) -> bool:
        if record.origin.source in self._visited:  # the file was read, and lacks this part
            return True
        place = self._places.file(record.origin.source)
        return not os.path.lexists(place) or any(map(place.is_relative_to, walked))

    def _new_name(self, identifier: str, file: Path, part: str) -> str:
        """Return a name for a new page: the document's id, with folders of its file if necessary."""
        folders = Path(os.path.realpath(file)).parent.parts[1:]
        longer = ["/".join((*folders[-depth:], file.stem + part)) for depth in range(1, len(folders) + 1)]
        return f"{page_name(identifier, self._used_names, *longer)}.html"

    def _check_page(self, page: Path) -> None:
        """Raise ``OutputError`` if the page exists and iconotext did not write it, or somebody changed it since."""
        if os.path.realpath(page) in self._sources:
            raise OutputError(f"{page} is one of the documents: name another folder")
        if os.path.lexists(page) and not self._force and not is_untouched(page):
            raise OutputError(f"{page} exists already, and is not as iconotext wrote it: the option force replaces it")
        if page.exists() and not page.is_file():
            raise OutputError(f"cannot write {page}: it is not a file")
        check_overwrite(page, force=True)

    def _write(self, linked: LinkedDocument, html: str, page: str, origin: Origin, card: Embedded | None) -> Record:
        self._put(self.folder / page, sealed(html))
        record = Record(page, origin, count(linked), linked.document.language, card)
        self._manifest.add(record)
        self._current.add(page)
        return record

    def _put(self, path: Path, page: str) -> None:
        """Write a page, unless it exists with the same content."""
        if not path.is_file() or path.read_bytes() != page.encode():
            write_text(path, page, force=True)


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot remove {file}: {error.strerror or error}") from error


LONGEST = 60
"""Maximum length of a name."""


def page_name(identifier: str, used_names: set[str], *longer: str) -> str:
    """Return a file name without suffix, valid on every file system and unused; it is added to ``used_names``.

    Names that differ only in case count as the same, as on some file systems.

    Args:
        identifier: Name of the document.
        used_names: Names in use, in lower case.
        longer: Alternative names, tried in order before a number is appended to the first one.
    """
    base = _plain(identifier)
    numbered = (f"{base}-{number}" for number in count_from(2))
    name = next(name for name in chain([base], map(_plain, longer), numbered) if name.casefold() not in used_names)
    used_names.add(name.casefold())
    return name


def _plain(identifier: str) -> str:
    plain = unicodedata.normalize("NFC", readable(identifier))
    return re.sub(r"[^\w.-]+", "-", plain).strip("-._")[:LONGEST].rstrip("-._") or "document"


CARD_SIDE = 96
"""Longer side in pixels of an image in the index: twice its size there, about 2 kB."""


def index_page(records: Sequence[Record]) -> str:
    """Return an HTML page that lists the records in the given order.

    The paths of the records are shown below the folder that they have in common.
    """
    sources = [unquote(record.origin.source) for record in records]
    try:
        above = posixpath.commonpath([posixpath.dirname(source) or "." for source in sources]) if sources else ""
    except ValueError:  # on several drives
        above = ""
    paths = [source.removeprefix(f"{above}/") for source in sources]
    return filled(
        "iconotext.report",
        "index.html",
        title="Linked documents",
        styles=["index.css"],
        scripts=["index.js"],
        documents=[(record, readable(path + record.origin.part)) for record, path in zip(records, paths, strict=True)],
        pictures=sum(record.counts.pictures for record in records),
        linked=sum(record.counts.linked for record in records),
    )


def card_image(linked: LinkedDocument) -> Embedded | None:
    """Return the image with the strongest link, reduced; None without links."""
    if not linked.links:
        return None
    best = linked.links[0].image
    return embed(linked.document.images, [best], longer_side=CARD_SIDE, small=True)[best]
