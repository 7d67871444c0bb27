"""JSON lines, plain or compressed: our own corpus format, and the lines of other formats.

Each line is parsed separately, so a bad line does not affect the next.
"""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from iconotext.corpus.row import Part, Problem, Record, Row, json_of, parse_json_row, parse_row
from iconotext.errors import CorpusError
from iconotext.extras import require
from iconotext.system.files import open_atomic
from iconotext.system.strict_json import parse_json

Item = TypeVar("Item")

PACKINGS = (".zip", ".gz", ".zst")  # suffixes of packed files that ``lines_of`` opens

LONGEST = 1 << 28  # maximum length of a line in bytes, so that a file without line ends does not fill memory

BLOCK = 1 << 20  # approximate number of bytes of lines that are passed on together


def json_lines(path: Path) -> Iterator[tuple[int, Any, Problem | None]]:
    """Yield line number (from 1) and value, or problem, of each non-blank line; ``CorpusError`` if unreadable."""
    with lines_of(path) as lines:
        yield from parse_lines(1, lines)


def first_value(path: Path) -> Any:
    """Return the value of the first non-blank line; None if there is none, or it is no JSON."""
    return next(json_lines(path), (0, None, None))[1]


def parse_lines(first: int, lines: Iterable[bytes]) -> Iterator[tuple[int, Any, Problem | None]]:
    """Yield line number and value, or problem, of each non-blank line; ``first`` is the number of the first line."""
    for number, line in enumerate(lines, start=first):
        if line.isspace():
            continue
        try:
            # Programs of Windows put a byte order mark before the first line.
            value = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            yield number, None, Problem(f"line {number}", None, "not UTF-8 text; a corpus is JSON lines in UTF-8")
        except ValueError as error:
            yield number, None, Problem(f"line {number}", None, str(error))
        else:
            yield number, value, None


def line_blocks(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Yield blocks of lines of about a megabyte, each with the number of its first line.

    Raises ``CorpusError`` if the file cannot be read; after the lines before the damage.
    """
    with lines_of(path) as lines:
        first = 1
        for block in blocks(lines, BLOCK, len):
            yield first, block
            first += len(block)


def blocks(items: Iterable[Item], largest: int, size: Callable[[Item], int] = lambda item: 1) -> Iterator[list[Item]]:
    """Yield lists of items whose sizes add up to ``largest`` or a little more.

    An error of the items is raised after a list of the items before it, so that these are not lost.
    """
    block: list[Item] = []
    total, error = 0, None
    try:
        for item in items:
            block.append(item)
            total += size(item)
            if total >= largest:
                yield block
                block, total = [], 0
    except Exception as failed:
        error = failed
    if block:
        yield block
    if error is not None:
        raise error


def count_lines(path: Path) -> int:
    """Return the number of non-blank lines; ``CorpusError`` if the file cannot be read."""
    with lines_of(path) as lines:
        return sum(1 for line in lines if not line.isspace())


def write_lines(lines: Iterable[str], path: Path, *, force: bool) -> int:
    """Write lines; returns their number. ``OutputError`` if the file exists, or cannot be written."""
    number = 0
    with open_atomic(path, force=force) as file:
        for line in lines:
            file.write(f"{line}\n".encode())
            number += 1
    return number


@contextmanager
def lines_of(path: Path) -> Iterator[Iterator[bytes]]:
    """Open the lines of a file, read as needed: plain, ``.gz``, ``.zst``, or a ``.zip`` with one file.

    Raises ``CorpusError`` if the file cannot be read; maybe in the middle of the lines.
    """
    try:
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                inside = [name for name in archive.namelist() if not name.endswith("/")]
                if len(inside) != 1:
                    raise CorpusError(
                        f"{path}: holds {len(inside)} files; a corpus in an archive is one file: unpack it"
                    )
                with archive.open(inside[0]) as lines:
                    yield _bounded(lines, path)
        elif path.suffix.lower() == ".gz":
            with path.open("rb") as packed, io.BufferedReader(gzip.GzipFile(fileobj=packed)) as lines:
                yield _bounded(lines, path)
        elif path.suffix.lower() == ".zst":
            require("parquet", purpose=f"{path}: packed by zstd")
            import pyarrow as pa

            with pa.OSFile(str(path)) as packed, io.BufferedReader(pa.CompressedInputStream(packed, "zstd")) as lines:
                yield _bounded(lines, path)
        else:
            with path.open("rb") as lines:
                yield _bounded(lines, path)
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: no such file") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError) as error:
        raise CorpusError(f"{path}: damaged, or not an archive we can open ({error}); unpack it") from error


def _bounded(lines: IO[bytes], path: Path) -> Iterator[bytes]:
    """Yield the lines; ``CorpusError`` if one is longer than ``LONGEST``."""
    for number, line in enumerate(iter(partial(lines.readline, LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise CorpusError(
                f"{path}, line {number}: longer than {LONGEST:,} bytes: is this really a file of JSON lines?"
            )
        yield line


def jsonl_parts(path: Path) -> Iterator[Part]:
    """Return the lines, in parts of about a megabyte; ``CorpusError`` if the file cannot be read."""
    return (partial(_records, first, lines) for first, lines in line_blocks(path))


def _records(first: int, lines: Iterable[bytes]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=first):
        if not line.isspace():
            yield parse_json_row(line, f"line {number}") or _carefully(number, line)


def _carefully(number: int, line: bytes) -> Record:
    """Return the record of a line that ``parse_json_row`` did not accept."""
    ((_, value, problem),) = parse_lines(number, [line])
    return parse_row(value, f"line {number}") if problem is None else Record(f"line {number}", None, (problem,))


def write_jsonl(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a line for each row; returns their number."""
    return write_lines(map(line_of, rows), path, force=force)


def line_of(row: Row) -> str:
    """Return the row as JSON, without empty fields; ``CorpusError`` if JSON cannot represent a value."""
    return json_of(row, {name: value for name, value in row if value is not None and (name != "meta" or value)})
