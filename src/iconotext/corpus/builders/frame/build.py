"""One run of a builder, from the sources to a corpus and the report of what became of them.

What is computed on the way lies in the folder ``CORPUS.building`` beside the corpus until that is written, so that a
build that was killed goes on where it was, whenever that happened. Another source or setting begins anew. Corpus,
report and table of what was dropped are written there too, and put in their places when all of them are whole.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from iconotext import __version__
from iconotext.corpus.builders.frame.compared_sizes import count_sizes
from iconotext.corpus.builders.frame.fingerprint import fingerprint
from iconotext.corpus.builders.frame.journal import CHUNK, journalled, kept_results
from iconotext.corpus.builders.frame.report import BuildReport, dropped_path, report_path
from iconotext.corpus.builders.frame.work_folder import begin_anew, clear, held, same_build, work_folder
from iconotext.corpus.published_sizes import PublishedSizes
from iconotext.corpus.row import Row, parse_row
from iconotext.corpus.stats import Counting
from iconotext.corpus.store import target_format, write_rows
from iconotext.errors import CorpusError, DocumentError, OutputError, SettingError
from iconotext.plain_text import cell
from iconotext.write import check_overwrite, open_atomic, put_in_place, reporting_full_disk, write_bytes

Item = TypeVar("Item")
Result = TypeVar("Result")

Values = dict[str, Any]
"""A document as the columns of a corpus file, see ``corpus.row``; what is unknown is left out."""

FINISHED = "finished"
"""In the folder of a build: what the corpus is called there until it is put in its place; report and table likewise."""


class Watch(Protocol):
    """Passes items on, and shows somebody how many of ``total`` have come; 0 where nobody knows."""

    def __call__(self, items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
        """Pass them on."""


def unwatched(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Pass items on, and show nobody."""
    yield from items


@dataclass(slots=True)
class Build:
    """One run of a builder.

    Attributes:
        output: The corpus file.
        seed: Of everything that is drawn at random.
        workers: Processes.
        report: What became of everything.
        watcher: Shows progress.
        published: What the paper says of the whole; its sizes are compared with those of the corpus in the end. Set by
            a builder.
    """

    output: Path
    seed: int
    workers: int
    report: BuildReport
    watcher: Watch = unwatched
    published: PublishedSizes | None = None
    _names: set[str] = field(default_factory=set)

    @property
    def folder(self) -> Path:
        """Where the corpus lies; paths of pictures are written relative to it."""
        return self.output.parent

    @property
    def work(self) -> Path:
        """The folder for what is computed on the way."""
        return work_folder(self.output)

    def mapped(
        self,
        name: str,
        items: Iterable[Item],
        work: Callable[[Item], Result],
        *,
        total: int = 0,
        label: str = "",
        chunk: int = CHUNK,
    ) -> Iterator[Result]:
        """The result of work on each item in their order, on all cores, kept on disk as it comes.

        Args:
            name: Of the step, another one for each.
            items: The same ones in the same order in every run; they are never all in memory.
            work: A function that can be sent to another process: one of a module, or ``functools.partial`` of one.
                Its results are what JSON can hold; tuples come back as lists.
            total: Number of items, for a progress bar; 0 where nobody knows.
            label: For the same; empty: the name.
            chunk: Items that are worked on, and kept, together: few where one takes long.
        """
        if name in self._names:
            raise ValueError(f"there are two steps {name!r} in this build")
        self._names.add(name)
        results = journalled(items, work, self.work / f"{name}.jsonl", workers=self.workers, chunk=chunk)
        yield from self.watcher(results, total=total, label=label or name.capitalize())

    def kept(self, name: str) -> Iterator[Any]:
        """The results of a step that is done, once more, from disk."""
        return kept_results(self.work / f"{name}.jsonl")

    def watch(self, items: Iterable[Item], *, total: int = 0, label: str) -> Iterator[Item]:
        """Pass items on and show progress, for a loop that is not ``mapped``."""
        yield from self.watcher(items, total=total, label=label)

    def way(self, path: Path) -> str:
        """How the corpus names a file or folder: the way from where it lies, with ``/``."""
        try:
            return Path(os.path.relpath(path.resolve(), self.folder.resolve())).as_posix()
        except ValueError:  # another drive of a Windows machine
            return path.resolve().as_posix()


def build_corpus(
    builder: str,
    rows: Callable[[Build], Iterator[Values]],
    output: Path,
    *,
    sources: Sequence[Path],
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int | None = None,
    force: bool = False,
    watcher: Watch = unwatched,
) -> BuildReport:
    """Run a builder: write corpus, report and list of what was dropped; whole, or none of them.

    Args:
        builder: Its name.
        rows: The builder; gives documents in the order of the corpus.
        output: ``.jsonl`` or ``.parquet``.
        sources: Files and folders it reads.
        settings: Its settings, as JSON has them; for the report, and to know whether a build that was killed can go on.
        seed: Another one, another choice.
        workers: Processes; None: as many as there are cores. A script that runs this on several must have its own
            beginning under ``if __name__ == "__main__"``.
        force: Replace files that are there.
        watcher: Shows progress.

    Raises:
        CorpusError: A source is missing or breaks its format, or nothing is left of it; says what was dropped most.
        DocumentError: The same, where sources are documents.
        IconotextError: A worker died.
        OutputError: A file exists and ``force`` is not set, or it cannot be written.
        SettingError: There are no workers.
    """
    if target_format(output) not in ("jsonl", "parquet"):
        raise OutputError(f"{output}: name a file .jsonl or .parquet; `iconotext corpus convert` writes other formats")
    if workers is not None and workers < 1:
        raise SettingError(f"workers {workers}: at least one is needed")
    staged = work_folder(output) / f"{FINISHED}{output.suffix}"
    # the corpus comes last: where it is, all of them are
    places = {dropped_path(staged): dropped_path(output), report_path(staged): report_path(output), staged: output}
    if not staged.parent.exists():  # else some may be what a killed run of this build put there
        for path in reversed(places.values()):
            check_overwrite(path, force)
    settings = dict(settings or {})
    key = {"version": __version__, "builder": builder, "settings": settings, "seed": seed}
    key["sources"] = fingerprint(sources, written=places.values())
    report = BuildReport(builder, {**settings, "seed": seed}, [str(path) for path in sources])
    build = Build(output, seed, workers or os.cpu_count() or 1, report, watcher)
    with reporting_full_disk(build.work), held(build.work):
        _prepare(build.work, json.dumps(key), places, force=force)
        try:
            with closing(_with_known_errors(rows(build), build.work)) as found:  # workers end before the folder goes
                _write(found, staged, build)
        except (CorpusError, DocumentError, SettingError) as error:  # another time the source must be another
            with suppress(OSError):
                clear(build.work)
            raise type(error)(f"{error}{_why(report)}") from error
        for finished, path in places.items():
            put_in_place(finished, path, force=force)
        with suppress(OSError):  # what stays is removed by the next build here
            for finished in places:  # first: from here on, the build is done, and what it gave is the user's
                finished.unlink(missing_ok=True)
            clear(build.work)
    return report


def _prepare(work: Path, key: str, places: dict[Path, Path], *, force: bool) -> None:
    """Make the folder ready for this build, and take back what a killed run of it had put in place.

    Raises:
        OutputError: A file exists that is another's, and ``force`` is not set; or it cannot be written.
    """
    going_on = same_build(work, key)
    try:
        for finished, path in reversed(places.items()):
            if going_on and finished.is_file() and path.is_file() and finished.samefile(path):
                path.unlink()
            else:
                check_overwrite(path, force)
    except OSError as error:
        raise OutputError(f"cannot write {error.filename}: {error.strerror or error}") from error
    if not going_on:
        begin_anew(work, key)


def _with_known_errors(rows: Iterator[Values], work: Path) -> Generator[Values, None, None]:
    """The documents; what the system says to files that are read or written meanwhile becomes an error of ours."""
    try:
        yield from rows
    except sqlite3.Error as error:
        raise OutputError(f"cannot write to {work}: {error}; the same command goes on") from error
    except OSError as error:
        place = f"cannot write to {work}" if error.filename is None else error.filename
        raise OutputError(f"{place}: {error.strerror or error}; the same command goes on") from error


def _write(found: Iterator[Values], path: Path, build: Build) -> None:
    """Write corpus, table of what was dropped, and report, beside each other.

    Raises:
        CorpusError: Nothing is left of the sources.
    """
    counting, report = Counting(), build.report
    with _dropped_lines(dropped_path(path), report):
        first = next(found, None)
        if first is None:
            raise CorpusError(f"{', '.join(report.sources)}: nothing is left of it")
        write_rows(_counted(chain([first], found), counting), path, force=True)
    report.stats = counting.stats()
    if build.published is not None:
        count_sizes(report, report.stats, build.published)
    text = json.dumps(report.as_json(), ensure_ascii=False, indent=1)
    write_bytes(report_path(path), f"{text}\n".encode("utf-8", "replace"), force=True)  # a source may be no UTF-8


def _why(report: BuildReport) -> str:
    """What was dropped most, for the message of an error."""
    rules = report.dropped.most_common(3)
    told = "; ".join(f"{number} {rule}, such as {report.first[rule]}" for rule, number in rules)
    return f" (dropped: {told})" if told else ""


def _counted(rows: Iterator[Values], counting: Counting) -> Iterator[Row]:
    for values in rows:
        record = parse_row(values, f"document {values.get('id')!r}")
        if record.problems or record.row is None:
            raise CorpusError(str(record.problems[0]))
        row = record.row
        counting.add(row.split, len(row.sentences), len(row.images), row.images, row.links, row.relations)
        yield row


@contextmanager
def _dropped_lines(path: Path, report: BuildReport) -> Iterator[None]:
    """While this is open, what the report is told to drop is written to a file."""
    with open_atomic(path, force=True) as file:

        def tell(rule: str, item: str, reason: str) -> None:
            line = "\t".join(cell(" ".join(text.split())) for text in (rule, item, reason))
            file.write(f"{line}\n".encode())

        file.write(b"rule\titem\treason\n")
        report.tell = tell
        yield
