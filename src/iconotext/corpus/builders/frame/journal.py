"""Work on many items on all cores, whose results are kept on disk as they come.

Items go to worker processes some at a time. What comes back is written as one line, in the order of the items, so a
file of results is the same whatever the number of workers, and a run that was killed goes on after its last whole line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar

from iconotext.corpus.in_order import in_order
from iconotext.errors import CorpusError, OutputError
from iconotext.strict_json import dump_json, parse_json

Item = TypeVar("Item")
Result = TypeVar("Result")

CHUNK = 64
"""Items that go to a worker together; the work of one chunk is lost when the program is killed."""


def journalled(
    items: Iterable[Item],
    work: Callable[[Item], Result],
    path: Path,
    *,
    workers: int,
    chunk: int = CHUNK,
) -> Generator[Result, None, None]:
    """The result of work on each item, in their order.

    Args:
        items: The same ones in the same order in every run that goes on with a journal.
        work: A function that can be sent to another process; its results are what JSON can hold.
        path: The journal. Results that stand in it are not computed again.
        workers: Processes; with 1, or with few items, the work is done in this one.
        chunk: Items of a line of the journal; the same in every run that goes on with it.

    Raises:
        CorpusError: The journal is of other items, or a result cannot be written as JSON.
        IconotextError: A worker died.
        OutputError: The journal cannot be written.
    """
    chunks = _chunks(items, chunk)
    with _opened(path) as file:
        for results in _whole_lines(file):
            if len(next(chunks, ())) != len(results):
                raise CorpusError(f"{path}: belongs to another source: remove it and begin again")
            yield from results
        for _, line in in_order(chunks, partial(_line, work), workers):
            with _output_errors(path):
                file.write(line)
                file.flush()
            # what is handed out is what a later run would read: the same whether it was computed now or before
            yield from parse_json(line.decode())


def kept_results(path: Path) -> Iterator[Any]:
    """The results of a journal that is complete, in their order.

    Raises:
        OutputError: It cannot be read.
    """
    with _output_errors(path), path.open("rb") as file:
        for line in file:
            yield from parse_json(line.decode())


def _chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


def _line(work: Callable[[Item], Result], items: list[Item]) -> bytes:
    """The results of a chunk as a line of the journal."""
    results = [work(item) for item in items]
    try:
        return f"{dump_json(results)}\n".encode()
    except ValueError as error:
        raise CorpusError(f"a result of {getattr(work, '__name__', work)} cannot be kept: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with _output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    with file:
        yield file


def _whole_lines(file: IO[bytes]) -> Iterator[list[Any]]:
    """Results of the lines that are whole; what a kill left of another is cut off, and the file stands at its end."""
    file.seek(0)
    end = 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        try:
            results = parse_json(line.decode())
        except ValueError:  # a power cut may leave blanks where a line was to come
            break
        end += len(line)
        yield results
    file.truncate(end)
    file.seek(0, os.SEEK_END)


@contextmanager
def _output_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
