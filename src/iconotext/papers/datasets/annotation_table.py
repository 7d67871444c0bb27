"""Tables of annotations as they are published: a header, a row for each annotated pair, and many ways to write them.

The separator is the one that the header fits. A row that cannot be read does not hide the next one: every row comes
out, with its values or with what is wrong with it.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import CorpusError
from iconotext.read.text_file import LEGACY

SEPARATORS = ("|", "\t", ",", ";")

SAMPLE = 2**18
"""Bytes from lines that are not UTF-8, by which their encoding is recognised."""

MAX_LINES = 200
"""Lines that one quoted text may go over."""


@dataclass(frozen=True, slots=True)
class Table:
    """A file of annotations that was read.

    Attributes:
        columns: Names in its header, in small letters.
        fallback: Encoding of the lines that are not in it; None where there are none.
        odd_lines: How many these are.
    """

    path: Path
    lines: Sequence[str]
    columns: tuple[str, ...]
    separator: str
    encoding: str
    fallback: str | None
    odd_lines: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table.

    Attributes:
        file: Name of the table.
        line: Number of the line on which it begins, from 1.
        values: By the name of the column in small letters; {} where the row cannot be read.
        problem: Why it cannot be.
        note: What was done to read it nevertheless.
    """

    file: str
    line: int
    values: dict[str, str]
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
    lines, encoding, fallback, odd = _decoded(path)
    header = next(filter(str.strip, lines), "")
    for separator in SEPARATORS:
        names = tuple(name.strip().casefold() for name in next(csv.reader([header], delimiter=separator), []))
        if set(needed) <= set(names):
            twice = sorted(name for name in needed if names.count(name) > 1)
            if twice:
                raise CorpusError(f"{path}: two columns are named {twice[0]}; it should be {about}")
            return Table(path, lines, names, separator, encoding, fallback, odd)
    raise CorpusError(f"{path}: its first line does not name the columns {', '.join(needed)}; it should be {about}")


def table_rows(table: Table) -> Iterator[TableRow]:
    """Every row of a table; blank lines are none."""
    name, number, header = table.path.name, 0, True
    while number < len(table.lines):
        line, number = table.lines[number], number + 1
        if header:
            header = not line.strip()
            continue
        if not line.strip() and table.separator not in line:
            continue
        begin = number
        fields, note, number = _fields(line, number, table)
        if fields is None:
            yield TableRow(name, begin, {}, note)
        elif len(fields) != len(table.columns):
            problem = f"wrong number of columns: {len(fields)} where the header has {len(table.columns)}"
            yield TableRow(name, begin, {}, problem)
        else:
            values = dict(zip(reversed(table.columns), reversed(fields), strict=True))  # of two, the first counts
            yield TableRow(name, begin, values, note=note)


def _fields(line: str, end: int, table: Table) -> tuple[list[str] | None, str | None, int]:
    """The fields of a row, which may go on over the lines from ``end`` on, what was done to read them, and its end.

    A quoted text that is never closed, or that something other than a separator follows, is no quoted text: then the
    row is split at its separators and the quotes stay. A line that is a whole row by itself is never part of the text
    of the row before it.
    """
    width, separator = len(table.columns), table.separator
    plain = line.split(separator)
    if '"' not in line:
        return plain, None, end
    text = line
    for after in range(end, end + MAX_LINES + 1):
        fields = _quoted(text, separator)
        if fields is not None:
            return fields, None, after
        goes_on = after < len(table.lines) and _quoted(f'{text}"', separator) is not None  # else more is wrong with it
        if not goes_on or _whole(table.lines[after], width, separator):
            break
        text += f"\n{table.lines[after]}"
    if len(plain) == width:
        return plain, "broken quotes: kept as they are", end
    return None, f"broken quotes: without them it has {len(plain)} columns where the header has {width}", end


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


def _decoded(path: Path) -> tuple[list[str], str, str | None, int]:
    """The lines of a file, its encoding, that of lines which are not in it, and how many those are.

    Raises:
        CorpusError: It cannot be read, or is no text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace").encode()
        return [line.decode() for line in text.splitlines()], "utf-16", None, 0
    if b"\0" in data[:4096]:
        raise CorpusError(f"{path}: not a text file (it has zero bytes); save it as UTF-8 text")
    encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    lines, odd = [], {}
    for raw in data.removeprefix(codecs.BOM_UTF8).splitlines():  # of bytes: lines of Unix, Windows or old Macs
        try:
            lines.append(raw.decode())
        except UnicodeDecodeError:
            odd[len(lines)] = raw
            lines.append("")
    if not odd:
        return lines, encoding, None, 0
    from charset_normalizer import from_bytes

    best = from_bytes(b"\n".join(odd.values())[:SAMPLE], cp_isolation=LEGACY).best()
    fallback = best.encoding if best is not None else "cp1252"
    for number, raw in odd.items():
        lines[number] = raw.decode(fallback, errors="replace")
    return lines, encoding, fallback, len(odd)
