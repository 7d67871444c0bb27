"""Lines of JSON, plain or packed, each parsed on its own: one bad line does not hide the next."""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from iconotext.corpus.row import Problem
from iconotext.errors import CorpusError
from iconotext.extras import require
from iconotext.strict_json import parse_json
from iconotext.write import open_atomic

LONGEST = 1 << 28
"""Bytes of a line that is read at all; a file without line ends must not fill the memory."""

BLOCK = 1 << 20
"""Bytes of the lines that are handed on together, about."""


def json_lines(path: Path) -> Iterator[tuple[int, Any, Problem | None]]:
    """Number (from 1) and value, or problem, of each line that is not blank; ``CorpusError`` for an unreadable file."""
    with lines_of(path) as lines:
        yield from parse_lines(1, lines)


def parse_lines(first: int, lines: Iterable[bytes]) -> Iterator[tuple[int, Any, Problem | None]]:
    """Number and value of each line that is not blank, or its problem; ``first`` is the number of the first line."""
    for number, line in enumerate(lines, start=first):
        if line.isspace():
            continue
        try:
            value = parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            yield number, None, Problem(f"line {number}", None, "not UTF-8 text; a corpus is JSON lines in UTF-8")
        except ValueError as error:
            yield number, None, Problem(f"line {number}", None, str(error))
        else:
            yield number, value, None


def line_blocks(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Lines, about a megabyte together, with the number of the first.

    Raises:
        CorpusError: The file cannot be read; the lines before the place where that shows come first.
    """
    with lines_of(path) as lines:
        first, size = 1, 0
        block: list[bytes] = []
        error: Exception | None = None
        try:
            for line in lines:
                block.append(line)
                size += len(line)
                if size >= BLOCK:
                    yield first, block
                    first, size, block = first + len(block), 0, []
        except Exception as failed:
            error = failed
        if block:
            yield first, block
        if error is not None:
            raise error


def count_lines(path: Path) -> int:
    """Number of lines that are not blank; ``CorpusError`` where the file cannot be read."""
    with lines_of(path) as lines:
        return sum(1 for line in lines if not line.isspace())


def write_lines(lines: Iterable[str], path: Path, *, force: bool) -> int:
    """Write lines; how many. ``OutputError`` where the file exists, or cannot be written."""
    number = 0
    with open_atomic(path, force=force) as file:
        for line in lines:
            file.write(f"{line}\n".encode())
            number += 1
    return number


@contextmanager
def lines_of(path: Path) -> Iterator[Iterator[bytes]]:
    """The lines of a file, read as they are asked for: a ``.gz``, a ``.zst``, or a ``.zip`` that holds one file.

    Raises:
        CorpusError: The file cannot be read, also where that shows only while it is read.
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
    """The lines, none of them longer than ``LONGEST``."""
    for number, line in enumerate(iter(partial(lines.readline, LONGEST + 1), b""), start=1):
        if len(line) > LONGEST:
            raise CorpusError(
                f"{path}, line {number}: longer than {LONGEST:,} bytes: is this really a file of JSON lines?"
            )
        yield line
