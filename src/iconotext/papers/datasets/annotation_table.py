"""Tables of annotations as they are published: a header, a row for each annotated pair, and many ways to write them.

The separator is the one that the header fits. Rows are read one at a time. A row that cannot be read does not hide the
next one: every row comes out, with its values or with what is wrong with it.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import CorpusError
from iconotext.read.text_file import LEGACY

SEPARATORS = ("|", "\t", ",", ";")
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

SAMPLE = 2**18
"""Bytes from lines that are not UTF-8, by which their encoding is recognised."""

MAX_LINES = 200
"""Lines that one quoted text may go over."""


@dataclass(frozen=True, slots=True)
class Table:
    """A file of annotations that was looked at.

    Attributes:
        columns: Names in its header, in small letters.
        separator: Between two columns.
        fallback: Encoding of the lines that are not in it; None where there are none.
        odd_lines: How many these are.
    """

    path: Path
    columns: tuple[str, ...]
    separator: str
    encoding: str
    fallback: str | None
    odd_lines: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table.

    Attributes:
        line: Number of the line on which it begins, from 1.
        values: By the name of the column in small letters; None where the row cannot be read.
        problem: Why it cannot be.
        note: What was done to read it nevertheless.
    """

    line: int
    values: dict[str, str] | None
    problem: str | None = None
    note: str | None = None


def open_table(path: Path, needed: Sequence[str], about: str) -> Table:
    """Find out how a table is written.

    Args:
        needed: Columns that it must have, in small letters.
        about: What the file is and where it comes from, for the error.

    Raises:
        CorpusError: It cannot be read, is a folder, or is not such a table; says what was expected.
    """
    if path.is_dir():
        raise CorpusError(f"{path}: a folder; name the file in it that is {about}")
    with _known_errors(path):
        encoding, fallback, odd = _encodings(path)
        header = next((line for _, line in _lines(path, encoding, fallback) if line.strip()), "")
    for separator in SEPARATORS:
        names = tuple(name.strip().casefold() for name in next(csv.reader([header], delimiter=separator), []))
        if set(needed) <= set(names):
            twice = sorted(name for name in needed if names.count(name) > 1)
            if twice:
                raise CorpusError(f"{path}: two columns are named {twice[0]}; it should be {about}")
            return Table(path, names, separator, encoding, fallback, odd)
    raise CorpusError(f"{path}: its first line does not name the columns {', '.join(needed)}; it should be {about}")


def table_rows(table: Table) -> Iterator[TableRow]:
    """Every row of a table; blank lines are none. ``CorpusError`` where the file cannot be read."""
    with _known_errors(table.path):
        lines = _Ahead(_lines(table.path, table.encoding, table.fallback))
        header = True
        while (found := lines.next()) is not None:
            number, line = found
            if header:
                header = not line.strip()
                continue
            if not line.strip() and table.separator not in line:
                continue
            fields, note = _fields(line, lines, table)
            if fields is None:
                yield TableRow(number, None, note)
            elif len(fields) != len(table.columns):
                yield TableRow(
                    number, None, f"wrong number of columns: {len(fields)} where the header has {len(table.columns)}"
                )
            else:
                values = dict(zip(reversed(table.columns), reversed(fields), strict=True))  # of two, the first counts
                yield TableRow(number, values, note=note)


class _Ahead:
    """Lines of which some can be looked at before they are taken."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self._waiting: list[tuple[int, str]] = []

    def next(self) -> tuple[int, str] | None:
        return self._waiting.pop(0) if self._waiting else next(self._lines, None)

    def peek(self, ahead: int) -> str | None:
        """The line after the next ``ahead`` ones, None at the end."""
        while len(self._waiting) <= ahead:
            found = next(self._lines, None)
            if found is None:
                return None
            self._waiting.append(found)
        return self._waiting[ahead][1]


def _fields(line: str, lines: _Ahead, table: Table) -> tuple[list[str] | None, str | None]:
    """The fields of a row, which may go on over the next lines, and what was done to read them.

    A quoted text that is never closed, or that something other than a separator follows, is no quoted text: then the
    row is split at its separators and the quotes stay. A line that is a whole row by itself is never part of the text
    of the row before it.
    """
    width, separator = len(table.columns), table.separator
    if '"' not in line:
        return line.split(separator), None
    plain = line.split(separator)
    text, taken = line, 0
    while True:
        fields = _quoted(text, separator)
        if fields is not None:
            for _ in range(taken):
                lines.next()
            return fields, None
        goes_on = taken < MAX_LINES and _quoted(f'{text}"', separator) is not None  # all that is wrong with the row
        following = lines.peek(taken) if goes_on else None
        if following is None or _whole(following, width, separator):
            break
        text += f"\n{following}"
        taken += 1
    if len(plain) == width:
        return plain, "broken quotes: kept as they are"
    return None, f"broken quotes: without them it has {len(plain)} columns where the header has {width}"


def _quoted(text: str, separator: str) -> list[str] | None:
    """The fields of one row with quoted texts, None where its quotes are broken."""
    try:
        (fields,) = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        return None
    return fields


def _whole(line: str, width: int, separator: str) -> bool:
    """Whether a line has all the columns, each without a quote in it or quoted from its beginning to its end."""
    field = f'(?:[^"{separator}]*|"(?:[^"]|"")*")'
    return re.fullmatch(rf"{field}(?:\{separator}{field}){{{width - 1}}}", line) is not None


def _encodings(path: Path) -> tuple[str, str | None, int]:
    """Encoding of a file, that of lines which are not in it, and how many; ``CorpusError`` where it is no text."""
    with path.open("rb") as stream:
        head = stream.read(4096)
    for mark, encoding in MARKS:
        if head.startswith(mark) and encoding == "utf-16":
            return encoding, None, 0
    if b"\0" in head:
        raise CorpusError(f"{path}: not a text file (it has zero bytes); save it as UTF-8 text")
    odd, sample = 0, bytearray()
    for raw in _raw_lines(path):
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            odd += 1
            if len(sample) < SAMPLE:
                sample += raw + b"\n"
    encoding = "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8"
    if not odd:
        return encoding, None, 0
    from charset_normalizer import from_bytes

    best = from_bytes(bytes(sample), cp_isolation=LEGACY).best()
    return encoding, best.encoding if best is not None else "cp1252", odd


def _raw_lines(path: Path) -> Iterator[bytes]:
    """Lines without their ends, be these of Unix, Windows or old Macs."""
    with path.open(encoding="latin-1") as lines:  # every byte is a character, and none but line ends ends a line
        for line in lines:
            yield line.removesuffix("\n").encode("latin-1")


def _lines(path: Path, encoding: str, fallback: str | None) -> Iterator[tuple[int, str]]:
    """Number and text of each line."""
    if encoding == "utf-16":
        with path.open(encoding=encoding, errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                yield number, line.removesuffix("\n")
        return
    for number, raw in enumerate(_raw_lines(path), start=1):
        try:
            yield number, raw.decode(encoding if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield number, raw.decode(fallback or "cp1252", errors="replace")


@contextmanager
def _known_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
