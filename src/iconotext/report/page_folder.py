"""A folder of pages that is brought up to date: it knows what it wrote, and touches nothing else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote, unquote_to_bytes

from iconotext.errors import IconotextError, OutputError
from iconotext.read import Failure
from iconotext.report.as_html import card_image, index_page, page_name, reading_page
from iconotext.report.as_table import count
from iconotext.report.flow import title
from iconotext.report.manifest import Manifest, Origin, Record
from iconotext.report.problems import NAME as PROBLEMS
from iconotext.report.problems import Problem, is_problem_table, problem_table
from iconotext.report.seal import is_untouched, sealed
from iconotext.types import Document, LinkedDocument
from iconotext.write import check_overwrite, write_text

INDEX = "index.html"

Made = tuple[Record, LinkedDocument | None]
"""A page, and the document that was linked for it; None where the page was there and nothing has changed."""


class PageFolder:
    """Pages of linked documents, an index that lists them, and what is known of each from earlier runs.

    A page is replaced or removed only while it is as it was written: a file of the user's, or a page that somebody
    changed, stays. ``force`` lifts that, and makes every page anew.

    Args:
        folder: Made when the first page is written.
        setup: Digest of all that shapes a page but the document: settings, model, version of the program.
        force: See above.
        sources: Documents of this run, which no page may replace, not even with ``force``.

    Raises:
        OutputError: The index cannot be written, since a file of the user's has its name.
    """

    def __init__(self, folder: Path, *, setup: str = "", force: bool = False, sources: Iterable[Path] = ()) -> None:
        self.folder = folder
        self._home = os.path.realpath(folder)
        self._setup, self._force = setup, force
        self._sources = set(map(os.path.realpath, sources))
        self._claim(folder / INDEX)
        if not force and (folder / PROBLEMS).exists() and not is_problem_table(folder / PROBLEMS):
            raise OutputError(f"{folder / PROBLEMS} exists already, and iconotext did not write it; move it away")
        self._manifest = Manifest(folder)
        self._known: dict[str, dict[str, Record]] = {}
        for record in self._manifest.records.values():
            self._known.setdefault(record.origin.source, {})[record.origin.part] = record
        there = [record.page for record in self._manifest.records.values() if self._is_there(record.origin.source)]
        self._taken = {"index", *(page.removesuffix(".html").casefold() for page in there)}
        self._current: set[str] = set()  # pages of this run
        self._visited: set[str] = set()  # sources of this run

    def update(
        self,
        file: Path,
        identifier: str,
        read: Callable[[], Sequence[Document]],
        linker: Callable[[], Callable[[Document], LinkedDocument]],
    ) -> Iterator[Made | Failure]:
        """Bring the pages of one file up to date; what has not changed is not linked, and if possible not read.

        Args:
            file: The document.
            identifier: What the ids of its documents begin with.
            read: Reads it.
            linker: Called before the first document is linked; errors of its own are not the document's and end all.

        Raises:
            OutputError: The disk is full, or the folder cannot be written to.
        """
        source = self._address(os.path.realpath(file))
        known = self._known.get(source, {})
        self._visited.add(source)
        if self._is_unchanged(known):
            for record in sorted(known.values(), key=lambda record: record.origin.number):
                self._current.add(record.page)
                yield record, None
            return
        try:
            documents = read()
        except IconotextError as error:
            self._current.update(record.page for record in known.values())  # the last good ones
            yield Failure(file, error)
            return
        for number, document in enumerate(documents):
            part = document.id.removeprefix(identifier)
            origin = self._origin(document, source, part, number=number, parts=len(documents))
            old = known.get(part)
            if old is not None:
                self._current.add(old.page)
            if old is not None and self._is_same(old, origin):
                record = replace(old, origin=origin)
                if record != old:
                    self._manifest.add(record)
                yield record, None
                continue
            page = self._name(document.id, file, part) if old is None else old.page
            link = linker()
            try:
                self._claim(self.folder / page)
                linked = link(document)
            except IconotextError as error:
                yield Failure(file, error)
                continue
            yield self._write(linked, page, origin), linked

    def add(self, linked: LinkedDocument) -> Path:
        """Write the page of a document that was linked elsewhere.

        Raises:
            OutputError: A file of the user's has its name, or it cannot be written.
        """
        document = linked.document
        source = "" if document.source is None else self._address(os.path.realpath(document.source))
        old = self._known.get(source, {}).get(document.id)
        page = self._name(document.id) if old is None else old.page
        self._claim(self.folder / page)
        self._write(linked, page, self._origin(document, source, document.id, number=len(self._current), parts=0))
        return self.folder / page

    def finish(self, folders: Iterable[Path] = (), problems: Sequence[Problem] = ()) -> int:
        """Remove the pages of documents that are gone, and write the index and the list of problems.

        Gone is what is not on the disk any more, and what lies in one of the ``folders`` of this run and was not among
        its documents. Of the removed pages, those that somebody changed stay as files.

        Returns:
            How many pages were removed.

        Raises:
            OutputError: Something cannot be written.
        """
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
            left = {record.page for record in gone}
            self._manifest.rewrite([record for record in records if record.page not in left])
        listed = sorted(
            self._manifest.records.values(), key=lambda each: (unquote(each.origin.source), each.origin.number)
        )
        if listed or removed:
            self._put(self.folder / INDEX, sealed(index_page(listed)))
        table = self.folder / PROBLEMS
        if problems:
            write_text(table, problem_table(problems), force=True)
        elif is_problem_table(table):
            _remove(table)
        return removed

    def _is_unchanged(self, known: Mapping[str, Record]) -> bool:
        """Whether all that the pages of a file were made from is as it was, by the files alone."""
        return (
            bool(known)
            and not self._force
            and all(
                (self.folder / record.page).is_file()
                and record.origin.setup == self._setup
                and record.origin.parts == len(known)
                and record.origin.files is not None
                and all(_digest(self._place(name)) == digest for name, digest in record.origin.files.items())
                for record in known.values()
            )
        )

    def _is_same(self, old: Record, origin: Origin) -> bool:
        """Whether a document that was read gives the page that is there."""
        same = (old.origin.setup, old.origin.content) == (origin.setup, origin.content)
        return same and not self._force and (self.folder / old.page).is_file()

    def _is_gone(self, record: Record, walked: Sequence[Path]) -> bool:
        source = record.origin.source
        if source in self._visited:  # the file is there, this part of it is not
            return True
        place = self._place(source)
        return not self._is_there(source) or (source != "" and any(map(place.is_relative_to, walked)))

    def _is_there(self, source: str) -> bool:
        return source == "" or os.path.lexists(self._place(source))

    def _origin(self, document: Document, source: str, part: str, *, number: int, parts: int) -> Origin:
        files = {} if document.source is None else {source: _digest(document.source)}
        pictures: list[str | None] = []
        for image in document.images:
            if isinstance(image.file, Path):
                files[self._address(image.file)] = digest = _digest(image.file)
                pictures.append(digest)
            else:
                pictures.append(None if image.file is None else hashlib.sha256(image.file).hexdigest())
        shown = [replace(image, file=None) for image in document.images]
        content = repr((title(document), document.language, document.sentences, shown, pictures))
        return Origin(
            source,
            part,
            number,
            parts,
            self._setup,
            hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest(),
            None if None in pictures else files,
        )

    def _name(self, identifier: str, file: Path | None = None, part: str = "") -> str:
        """A name for a new page: the id of the document, else with as many folders of its file as it takes."""
        folders = () if file is None else Path(os.path.realpath(file)).parent.parts[1:]
        stem = "" if file is None else file.stem
        longer = ["/".join((*folders[-depth:], stem + part)) for depth in range(1, len(folders) + 1)]
        return f"{page_name(identifier, self._taken, *longer)}.html"

    def _claim(self, page: Path) -> None:
        """See that a page may be written.

        Raises:
            OutputError: There is a file that we did not write, or that somebody changed since.
        """
        if os.path.realpath(page) in self._sources:
            raise OutputError(f"{page} is one of the documents: name another folder")
        if os.path.lexists(page) and not self._force and not is_untouched(page):
            raise OutputError(f"{page} exists already, and is not as iconotext wrote it: force=True replaces it")
        if page.exists() and not page.is_file():
            raise OutputError(f"cannot write {page}: it is not a file")
        check_overwrite(page, force=True)

    def _write(self, linked: LinkedDocument, page: str, origin: Origin) -> Record:
        self._put(self.folder / page, sealed(reading_page(linked, index=INDEX)))
        record = Record(page, origin, count(linked), linked.document.language, card_image(linked))
        self._manifest.add(record)
        self._current.add(page)
        return record

    def _put(self, path: Path, page: str) -> None:
        """Write a page, unless just that is there."""
        if not path.is_file() or path.read_bytes() != page.encode():
            write_text(path, page, force=True)

    def _address(self, file: Path | str) -> str:
        """A file as seen from the folder of pages: both may be moved together."""
        try:
            relative = os.path.relpath(os.path.abspath(file), self._home)
        except ValueError:  # on another drive
            relative = os.path.abspath(file)
        return quote(os.fsencode(relative.replace(os.sep, "/")))

    def _place(self, address: str) -> Path:
        return Path(os.path.normpath(os.path.join(self._home, os.fsdecode(unquote_to_bytes(address)))))


def write_pages(documents: Iterable[LinkedDocument], folder: Path, *, force: bool = False) -> list[Path]:
    """Write a page for each document, and ``index.html`` that lists all of the folder, by the names of their files.

    Args:
        documents: May be a generator; one document at most is in memory.
        folder: Made if need be.
        force: Replace files that are not pages as we wrote them.

    Returns:
        The pages in the order of the documents; the index comes last. Empty without documents.

    Raises:
        OutputError: A file of the user's is in the way and ``force`` is not set, or something cannot be written.
    """
    pages = PageFolder(folder, force=force)
    written = [pages.add(linked) for linked in documents]
    pages.finish()
    return [*written, folder / INDEX] if written else []


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot remove {file}: {error.strerror or error}") from error


def _digest(file: Path) -> str:
    try:
        if not file.is_file():  # nor does a pipe keep us waiting
            return "gone"
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "gone"
