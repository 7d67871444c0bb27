"""One run of a builder, from the sources to a corpus and the report of what became of them.

What is computed on the way lies in the folder ``CORPUS.building`` beside the corpus until that is written, so that a
build that was killed goes on where it was. Another source or setting begins anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from iconotext import __version__
from iconotext.corpus.builders.frame.journal import CHUNK, journalled, kept_results
from iconotext.corpus.builders.frame.report import BuildReport, dropped_path, report_path
from iconotext.corpus.builders.pictures.fetched import LEDGER
from iconotext.corpus.row import Row, parse_row
from iconotext.corpus.stats import Counting
from iconotext.corpus.store import target_format, write_rows
from iconotext.corpus.strict_json import dump_json
from iconotext.errors import CorpusError, DocumentError, OutputError, SettingError
from iconotext.write import opened, refuse, write_text

Item = TypeVar("Item")
Result = TypeVar("Result")

Values = dict[str, Any]
"""A document as the columns of a corpus file, see ``corpus.row``; what is unknown is left out."""

BUILDING = ".building"

KEY = "build.json"
"""In the folder of a build: what it is a build of."""

PICTURES = frozenset((".jpg .jpeg .png .gif .webp .bmp .tif .tiff .avif .jp2 .svg .img").split())
"""Suffixes of files that may come and go without making a build another one: pictures are fetched by and by."""


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
    """

    output: Path
    seed: int
    workers: int
    report: BuildReport
    watcher: Watch = unwatched
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


def work_folder(output: Path) -> Path:
    """Where a build keeps what it computes on the way: ``rqa.building`` beside ``rqa.jsonl``."""
    return output.with_suffix(BUILDING)


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
    report_file, dropped_file = report_path(output), dropped_path(output)
    for path in (output, report_file, dropped_file):
        refuse(path, force)
    settings = dict(settings or {})
    key = {"version": __version__, "builder": builder, "settings": settings, "seed": seed}
    _prepare(output, key | {"sources": _fingerprint(sources)})
    report = BuildReport(builder, {**settings, "seed": seed}, [str(path) for path in sources])
    build = Build(output, seed, workers or os.cpu_count() or 1, report, watcher)
    counting = Counting()
    try:
        with _dropped_lines(dropped_file, report, force=force):
            found = rows(build)
            first = next(found, None)
            if first is None:
                raise CorpusError(f"{', '.join(report.sources)}: nothing is left of it")
            write_rows(_counted(chain([first], found), counting), output, force=force)
    except (CorpusError, DocumentError, SettingError) as error:  # another time the source must be another
        shutil.rmtree(build.work, ignore_errors=True)
        raise type(error)(f"{error}{_why(report)}") from error
    report.stats = counting.stats()
    write_text(report_file, json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n", force=force)
    shutil.rmtree(build.work, ignore_errors=True)
    return report


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
def _dropped_lines(path: Path, report: BuildReport, *, force: bool) -> Iterator[None]:
    """While this is open, what the report is told to drop is written to a file."""
    with opened(path, force=force) as file:

        def tell(rule: str, item: str, reason: str) -> None:
            line = "\t".join(" ".join(text.split()) for text in (rule, item, reason))
            file.write(f"{line}\n".encode("utf-8", "replace"))

        file.write(b"rule\titem\treason\n")
        report.tell = tell
        yield


def _prepare(output: Path, key: Mapping[str, Any]) -> None:
    """Make the folder of the build, empty where what lies there is of another build."""
    folder = work_folder(output)
    name = folder / KEY
    text = dump_json(dict(key))
    try:
        if name.is_file() and name.read_text("utf-8") == text:
            return
        if folder.exists():
            if not name.is_file() and any(folder.iterdir()):
                raise OutputError(f"{folder}: is in the way: a build keeps there what it computes; move it")
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from error
    write_text(name, text)


def _fingerprint(sources: Sequence[Path]) -> str:
    """Another one where a file of a source has another name, size or time; pictures, and what we write, do not count.

    Raises:
        CorpusError: A source is missing.
    """
    digest = hashlib.sha256()
    for source in sources:
        try:
            files = [source] if source.is_file() else _data_files(source)
            if not source.exists():
                raise CorpusError(f"{source}: no such file or folder")
            for file in files:
                status = file.stat()
                digest.update(f"{file.absolute()} {status.st_size} {status.st_mtime_ns}\n".encode("utf-8", "replace"))
        except OSError as error:
            raise CorpusError(f"{source}: cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()


def _data_files(folder: Path) -> Iterator[Path]:
    """The files in a folder and the folders in it that are no pictures."""
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not name.endswith(BUILDING))
        for name in sorted(files):
            if not name.startswith(".") and os.path.splitext(name)[1].lower() not in PICTURES and name != LEDGER:
                yield Path(top, name)
