"""The run of a builder, from files to a corpus and a report: ``build_corpus``, and ``Build``, which helps builders.

A builder is a module with two names: ``Settings``, a class of ``BuilderSettings``, and ``documents(build, settings)``,
a generator of documents. All builders run here: on all cores, in the order of the sources, so that the result is the
same for any number of workers. Corpus, report and table of dropped items appear when all of them are complete. A build
that was stopped begins again, but images that were fetched or decoded are not fetched or decoded again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.fetched import fetch_images
from iconotext.corpus.builders.find_images import check_of, look_at, stored_checks
from iconotext.corpus.row import SPLITS, Row, parse_row
from iconotext.corpus.split import Shares, share_out
from iconotext.corpus.stats import Counting
from iconotext.corpus.store import NEW_FILES, target_format, write_rows
from iconotext.errors import CorpusError, DocumentError, OutputError, SettingError
from iconotext.plain_text import cell
from iconotext.system.files import check_overwrite, locked, open_atomic, put_in_place, reporting_full_disk, write_bytes
from iconotext.system.processes import Watch, in_order, unwatched
from iconotext.system.spool import Spool
from iconotext.system.strict_json import dump_json

if TYPE_CHECKING:
    from iconotext.corpus.stats import CorpusStats, PublishedSizes


RULES = 100
"""Number of rules that are counted separately; items of further rules are counted together, to bound the report."""

OTHER = "other reasons"


@dataclass(frozen=True, slots=True)
class Count:
    """A number of items.

    Attributes:
        published: The paper's number; None if the paper gives none.
        rounding: Unit to which the paper rounds it: 1000 for 13K.
    """

    name: str
    number: int
    published: int | None = None
    rounding: int = 1

    @property
    def fits(self) -> bool | None:
        """Whether the two numbers are equal, up to the paper's rounding; None if the paper gives none."""
        if self.published is None:
            return None
        return self.number == self.published or abs(self.number - self.published) * 2 < self.rounding

    def as_json(self) -> dict[str, Any]:
        """Return the count as a JSON object."""
        value: dict[str, Any] = {"what": self.name, "found": self.number}
        if self.published is not None:
            value |= {"published": self.published, "rounded_to": self.rounding, "fits": self.fits}
        return value


@dataclass(slots=True)
class BuildReport:
    """The report of a build; the same for the same sources and settings.

    Attributes:
        listener: Called for every item that is dropped: rule, item, reason.
        counts: In the order of the rules.
        dropped: Number of items by rule, in the order in which rules first dropped one.
        first: The first item that each rule dropped, and the reason.
        stats: Statistics of the written corpus; None before it is written.
    """

    builder: str
    settings: dict[str, Any]
    sources: list[str]
    listener: Callable[[str, str, str], None] = lambda rule, item, reason: None
    counts: list[Count] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stats: CorpusStats | None = None

    def count(self, name: str, number: int, published: int | None = None, *, rounding: int = 1) -> None:
        """Add a count."""
        self.counts.append(Count(name, number, published, rounding))

    def drop(self, rule: str, item: str, reason: str = "") -> None:
        """Record that an item is left out, and why.

        Args:
            rule: The reason, in words that are the same for many items: ``picture missing``.
            item: An id, or file and line.
            reason: The details of this item.
        """
        if rule not in self.dropped and len(self.dropped) >= RULES:
            rule, reason = OTHER, f"{rule}: {reason}" if reason else rule
        self.dropped[rule] += 1
        self.first.setdefault(rule, f"{item}: {reason}" if reason else item)
        self.listener(rule, item, reason)

    def note(self, text: str) -> None:
        """Add a note for the user, about the sources or the interpretation of the rules."""
        self.notes.append(text)

    def count_sizes(self, stats: CorpusStats, published: PublishedSizes) -> None:
        """Add the sizes of a corpus beside the published ones; means and medians to the nearest number."""
        for split, number in zip(SPLITS, published.documents, strict=True):
            self.count(f"documents: {split}", stats.splits.get(split, 0), number, rounding=published.rounding)
        self.count("different images", stats.unique_images, published.images, rounding=1000)
        for i, (name, sizes) in enumerate((("sentences", stats.sentences), ("images", stats.images))):
            self.count(f"{name} per document: median", round(sizes.median), published.median[i])
            if published.mean is not None:
                self.count(f"{name} per document: mean", round(sizes.mean), round(published.mean[i]))
            if published.max is not None:
                self.count(f"{name} per document: most", sizes.max, published.max[i])
        if published.density is not None:
            self.count("links per 100 possible links", round(100 * (stats.density or 0)), published.density)

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object; the dropped items are in a separate file."""
        return {
            "builder": self.builder,
            # Not pydantic's JSON, which has 0.0 where a setting is 0.
            "settings": json.loads(json.dumps(self.settings, default=str)),
            "sources": self.sources,
            "counts": [count.as_json() for count in self.counts],
            "dropped": dict(self.dropped),
            "notes": self.notes,
            **({} if self.stats is None else self.stats.as_json()),
        }


def report_path(output: Path) -> Path:
    """Return the path of a corpus's report: ``rqa.report.json`` beside ``rqa.jsonl``."""
    return output.with_suffix(".report.json")


def dropped_path(output: Path) -> Path:
    """Return the path of the table of dropped items, with the columns rule, item, reason: ``rqa.dropped.tsv``."""
    return output.with_suffix(".dropped.tsv")


class BuilderSettings(BaseModel):
    """Settings of a builder, from which its command is made.

    Every field is an option with the field's docstring as its help; the docstring of the class is that of the command.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    source: Path | tuple[Path, ...]
    """What is read."""

    def sources(self) -> list[Path]:
        """Return the files and folders that are read and must exist."""
        return [self.source] if isinstance(self.source, Path) else list(self.source)


class DataSetSettings(BuilderSettings):
    """Settings of the builder of a published data set."""

    source: Path
    """Folder with the original files, as downloaded."""

    images: Path | None = None
    """Folder with the images, where they are not in the source."""

    @property
    def image_folder(self) -> Path:
        """The folder with the images."""
        return self.images or self.source


class FetchSettings(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """How the images of a data set may be fetched from the web."""

    fetch: bool = False
    """Fetch images that are missing from the web, into the folder of the images."""

    interval: float = Field(1.0, ge=0.1)
    """Seconds between two requests to one server."""


Item = TypeVar("Item")
Result = TypeVar("Result")
Settings = TypeVar("Settings", bound=BuilderSettings)

Values = dict[str, Any]  # a document as the columns of a corpus file, see ``corpus.row``; unknown columns are left out

IMAGE_CHECKS = "images.jsonl"  # file in the folder of a build with the results of image checks

CHUNK = 64  # number of items that go to a worker together

FOLDERS = 1024  # number of folders whose path from the corpus is cached


@dataclass(slots=True)
class Build:
    """One run of a builder, with the operations that builders need.

    Attributes:
        work: A folder for temporary files.
        force: Whether existing files may be replaced.
        opened: Files that are closed when the build ends.
        published: The paper's sizes of the whole, with which those of the corpus are compared in the end. Set by a
            builder.
    """

    output: Path
    work: Path
    workers: int
    report: BuildReport
    watcher: Watch = unwatched
    force: bool = False
    published: PublishedSizes | None = None
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def folder(self) -> Path:
        """The folder of the corpus; paths of images are written relative to it."""
        return self.output.parent

    def watch(self, items: Iterable[Item], *, total: int = 0, label: str) -> Iterator[Item]:
        """Pass items on, and show progress."""
        yield from self.watcher(items, total=total, label=label)

    def mapped(
        self, items: Iterable[Item], work: Callable[[Item], Result], *, total: int = 0, label: str, chunk: int = CHUNK
    ) -> Iterator[Result]:
        """Yield the result of work on each item, in their order, on all cores.

        Args:
            work: A function that can be sent to another process: one of a module, or ``functools.partial`` of one.
            total: Number of items, for a progress bar; 0 if unknown.
            chunk: Number of items that are sent together; small if an item takes long.
        """
        iterator = iter(items)
        chunks = iter(lambda: list(islice(iterator, chunk)), [])
        batches = in_order(chunks, partial(_all, work), self.workers)
        yield from self.watch((result for _, results in batches for result in results), total=total, label=label)

    def checked(
        self, files: Iterable[Path | None], look: Callable[[str | None], Result], *, total: int = 0, label: str
    ) -> Iterator[Result]:
        """Yield the result of ``look`` for each image file, on all cores: JSON values, stored until the end."""
        with (self.work / IMAGE_CHECKS).open("a+b") as results:
            stored = stored_checks(results)
            items = (check_of(file, stored) for file in files)
            for check in self.mapped(items, partial(look_at, look), total=total, label=label):
                if check.key is not None and not check.stored:
                    results.write(f"{dump_json([check.key, check.result])}\n".encode())
                    results.flush()
                yield check.result

    def fetched(self, addresses: Iterable[str], folder: Path, interval: float) -> dict[str, str]:
        """Fetch the images that are not in a folder yet into it; returns the problems by address."""
        unique, new = dict.fromkeys(addresses), 0
        problems: dict[str, str] = {}
        for picture in self.watch(fetch_images(unique, folder, interval=interval), total=len(unique), label="Fetching"):
            if picture.problem is not None:
                problems[picture.address] = picture.problem
            new += picture.new and picture.problem is None
        self.report.count("pictures fetched now", new)
        return problems

    def spool(self, values: Iterable[Item]) -> Spool[Item]:
        """Write values to a file, from which they can be read while the build runs."""
        return self.opened.enter_context(Spool(values, folder=self.work))

    def with_random_splits(self, documents: Iterable[Values], shares: Shares, *, seed: int) -> Iterator[Values]:
        """Assign random splits (train, validation, test) to documents, after the last document has come."""
        waiting = self.spool(documents)
        splits = share_out([None] * len(waiting), shares, seed=seed)
        for split, values in zip(splits, waiting, strict=True):
            yield values | {"split": split}

    def relative_path(self, path: Path) -> str:
        """Return the corpus's name for a file: its path relative to the folder of the corpus, with ``/``."""
        return f"{_relative_folder(path.absolute().parent, self.folder.absolute())}{path.name}"


@lru_cache(FOLDERS)
def _relative_folder(path: Path, start: Path) -> str:
    """Return the path from one absolute folder to another, with a ``/`` at its end; empty if they are the same."""
    try:
        folder = Path(os.path.relpath(path.resolve(), start.resolve()))
    except ValueError:  # another drive of a Windows machine
        folder = path.resolve()
    return "" if folder == Path() else f"{folder.as_posix().removesuffix('/')}/"


def _all(work: Callable[[Item], Result], items: list[Item]) -> list[Result]:
    return [work(item) for item in items]


def build_corpus(
    builder: str,
    documents: Callable[[Build, Settings], Iterator[Values]],
    settings: Settings,
    output: Path,
    *,
    workers: int | None = None,
    force: bool = False,
    watcher: Watch = unwatched,
) -> BuildReport:
    """Run a builder: write corpus, report and table of dropped items, all of them complete or none.

    Args:
        workers: Number of processes; None: the number of cores. A script that runs this with several must start under
            ``if __name__ == "__main__"``.

    Raises:
        CorpusError: A source is missing or violates its format, or all documents were dropped; the message names the
            most frequent reason.
        DocumentError: The same, if sources are documents.
        IconotextError: A worker died.
        OutputError: A file exists and ``force`` is not set, or it cannot be written.
        SettingError: There are no workers.
    """
    _check(settings, output, workers, force=force)
    report = BuildReport(builder, settings.model_dump(exclude={"source"}), [str(path) for path in settings.sources()])
    with reporting_full_disk(output), work_folder(output) as work:
        build = Build(output, work, workers or os.cpu_count() or 1, report, watcher, force)
        staged = work / f"finished{output.suffix}"
        try:
            with build.opened, closing(_with_output_errors(documents(build, settings), work)) as rows:  # ends workers
                _write(rows, staged, build)
        except (CorpusError, DocumentError, SettingError) as error:
            raise type(error)(f"{error}{_most_dropped(report)}") from error
        for path_of in (dropped_path, report_path, Path):  # the corpus last: if it exists, all of them do
            put_in_place(path_of(staged), path_of(output), force=force)
    return report


def _check(settings: BuilderSettings, output: Path, workers: int | None, *, force: bool) -> None:
    """Raise errors of settings and output before any work."""
    if target_format(output) not in ("jsonl", "parquet"):
        raise OutputError(f"{output}: name a file {NEW_FILES}; `iconotext corpus convert` writes other formats")
    if workers is not None and workers < 1:
        raise SettingError(f"workers {workers}: at least one is needed")
    for path in (output, report_path(output), dropped_path(output)):
        check_overwrite(path, force)
    for source in settings.sources():
        if not source.exists():
            raise CorpusError(f"{source}: no such file or folder")


def _with_output_errors(documents: Iterator[Values], work: Path) -> Generator[Values, None, None]:
    """Yield the documents; errors of the system about files become ``OutputError``."""
    try:
        yield from documents
    except OSError as error:
        place = f"cannot write to {work}" if error.filename is None else error.filename
        raise OutputError(f"{place}: {error.strerror or error}; then give the same command again") from error


def _write(rows: Iterator[Values], path: Path, build: Build) -> None:
    """Write corpus, table of dropped items, and report in parallel; ``CorpusError`` if no document remains."""
    counting, report = Counting(), build.report
    with _dropped_lines(dropped_path(path), report):
        first = next(rows, None)
        if first is None:
            raise CorpusError(f"{', '.join(report.sources)}: nothing is left of it")
        write_rows(_counted(chain([first], rows), counting), path, force=True)
    report.stats = counting.stats()
    if build.published is not None:
        report.count_sizes(report.stats, build.published)
    text = json.dumps(report.as_json(), ensure_ascii=False, indent=1)
    write_bytes(report_path(path), f"{text}\n".encode("utf-8", "replace"), force=True)  # a source may be no UTF-8


def _counted(documents: Iterable[Values], counting: Counting) -> Iterator[Row]:
    for values in documents:
        row = parse_row(values, f"document {values.get('id')!r}").usable_row()
        counting.add(row)
        yield row


def _most_dropped(report: BuildReport) -> str:
    rules = report.dropped.most_common(3)
    listed = "; ".join(f"{number} {rule}, such as {report.first[rule]}" for rule, number in rules)
    return f" (dropped: {listed})" if listed else ""


@contextmanager
def _dropped_lines(path: Path, report: BuildReport) -> Iterator[None]:
    """While this context is open, every dropped item is written to a file."""
    with open_atomic(path, force=True) as file:

        def write(rule: str, item: str, reason: str) -> None:
            line = "\t".join(cell(" ".join(text.split())) for text in (rule, item, reason))
            file.write(f"{line}\n".encode())

        file.write(b"rule\titem\treason\n")
        report.listener = write
        yield


LOCK = "lock"  # an empty file in the folder, which is locked for a process until the process ends, however it ends


@contextmanager
def work_folder(output: Path) -> Iterator[Path]:
    """Lock the folder of a build, for one process at a time.

    It is removed at the end. If the block is stopped, by a kill or a full disk, the results of image checks stay for
    the next try; after an error of the sources or settings, which would come again, nothing stays.
    Raises ``OutputError`` if another process holds it, something else is in its place, or it cannot be written to.
    """
    folder = output.with_suffix(".building")
    lock = folder / LOCK
    if folder.exists() and not lock.is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder}: is in the way: a build keeps its files there; move it")
    keep = False
    try:
        with locked(lock, "another process is making this corpus; wait for it, or end it"):
            try:
                _clear(folder, {LOCK, IMAGE_CHECKS})
                yield folder
            except (CorpusError, DocumentError, SettingError):
                raise
            except BaseException:
                keep = True
                raise
            finally:
                with suppress(OSError):
                    _clear(folder, {LOCK, IMAGE_CHECKS} if keep else {LOCK})
                with suppress(OSError):
                    if not keep or not (folder / IMAGE_CHECKS).exists():
                        shutil.rmtree(folder)
    finally:
        with suppress(OSError):  # Windows removes no folder with an open file in it
            folder.rmdir()


def _clear(folder: Path, staying: set[str]) -> None:
    for path in folder.iterdir():
        if path.name in staying:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
