"""The run of a builder, from files to a corpus and a report: ``build_corpus``.

A builder is a module with two names: ``Settings``, a class of ``BuilderSettings``, and ``documents(build, settings)``,
a generator of documents. All builders run here: on all cores, in the order of the sources, so that the result is the
same for any number of workers. Corpus, report and table of dropped items appear when all of them are complete. A build
that was stopped begins again, but images that were fetched are not fetched again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

from iconotext.corpus.builders.build import Build, BuilderSettings, Values
from iconotext.corpus.builders.report import BuildReport, dropped_path, report_path
from iconotext.corpus.row import Row, parse_row
from iconotext.corpus.stats import Counting
from iconotext.corpus.store import write_rows, writer_of
from iconotext.errors import CorpusError, DocumentError, OutputError, SettingError
from iconotext.plain_text import cell
from iconotext.system.files import check_overwrite, locked, open_atomic, put_in_place, reporting_full_disk, write_bytes
from iconotext.system.processes import Watch, unwatched

Settings = TypeVar("Settings", bound=BuilderSettings)


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
    writer_of(output)
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

    It is removed at the end. What a killed process left is removed at the beginning.
    Raises ``OutputError`` if another process holds it, something else is in its place, or it cannot be written to.
    """
    folder = output.with_suffix(".building")
    lock = folder / LOCK
    if folder.exists() and not lock.is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder}: is in the way: a build keeps its files there; move it")
    try:
        with locked(lock, "another process is making this corpus; wait for it, or end it"):
            try:
                _clear(folder)
                yield folder
            finally:
                with suppress(OSError):
                    _clear(folder)
                with suppress(OSError):
                    shutil.rmtree(folder)
    finally:
        with suppress(OSError):  # Windows removes no folder with an open file in it
            folder.rmdir()


def _clear(folder: Path) -> None:
    """Remove all but the lock."""
    for path in folder.iterdir():
        if path.name == LOCK:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
