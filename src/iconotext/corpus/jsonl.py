"""Our own format: one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from iconotext.corpus.json_lines import count_lines, line_blocks, lines_of, parse_lines
from iconotext.corpus.row import Part, Record, Row, parse_json_row, parse_row
from iconotext.errors import CorpusError
from iconotext.strict_json import dump_json
from iconotext.write import open_atomic

count_jsonl = count_lines


def read_jsonl(path: Path) -> Iterator[Record]:
    """What each line holds.

    Raises:
        CorpusError: The file cannot be read.
    """
    with lines_of(path) as lines:
        yield from line_records(1, lines)


def line_records(first: int, lines: Iterable[bytes]) -> Iterator[Record]:
    """What each line holds that is not blank; ``first`` is the number of the first line."""
    for number, line in enumerate(lines, start=first):
        if not line.isspace():
            yield parse_json_row(line, f"line {number}") or _carefully(number, line)


def jsonl_parts(path: Path) -> Iterator[Part]:
    """The same in parts of about a megabyte.

    Raises:
        CorpusError: The file cannot be read.
    """
    return (partial(line_records, first, lines) for first, lines in line_blocks(path))


def _carefully(number: int, line: bytes) -> Record:
    """The record of a line that something may be wrong with."""
    ((_, value, problem),) = parse_lines(number, [line])
    return parse_row(value, f"line {number}") if problem is None else Record(f"line {number}", None, (problem,))


def write_jsonl(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a line for each row; return how many.

    Raises:
        CorpusError: A row holds what JSON cannot.
        OutputError: The file exists, or cannot be written.
    """
    number = 0
    with open_atomic(path, force=force) as file:
        for row in rows:
            file.write(f"{line_of(row)}\n".encode())
            number += 1
    return number


def line_of(row: Row) -> str:
    """The row as JSON, without what it does not say.

    Raises:
        CorpusError: It holds what JSON cannot.
    """
    values = {name: getattr(row, name) for name in Row.model_fields}
    if not row.meta:
        del values["meta"]
    try:
        return dump_json({name: value for name, value in values.items() if value is not None})
    except ValueError as error:
        raise CorpusError(f"document {row.id!r}: cannot be written as JSON: {error}") from error
