"""iconotext's own format: one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from iconotext.corpus.formats.json_lines import line_blocks, parse_lines, write_lines
from iconotext.corpus.row import Part, Record, Row, json_of, parse_json_row, parse_row


def jsonl_parts(path: Path) -> Iterator[Part]:
    """The lines, in parts of about a megabyte; ``CorpusError`` if the file cannot be read."""
    return (partial(_records, first, lines) for first, lines in line_blocks(path))


def _records(first: int, lines: Iterable[bytes]) -> Iterator[Record]:
    """The record of each non-blank line; ``first`` is the number of the first line."""
    for number, line in enumerate(lines, start=first):
        if not line.isspace():
            yield parse_json_row(line, f"line {number}") or _carefully(number, line)


def _carefully(number: int, line: bytes) -> Record:
    """The record of a line that ``parse_json_row`` did not accept."""
    ((_, value, problem),) = parse_lines(number, [line])
    return parse_row(value, f"line {number}") if problem is None else Record(f"line {number}", None, (problem,))


def write_jsonl(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a line for each row; returns their number."""
    return write_lines(map(line_of, rows), path, force=force)


def line_of(row: Row) -> str:
    """The row as JSON, without empty fields; ``CorpusError`` if JSON cannot hold a value."""
    values = {name: getattr(row, name) for name in Row.model_fields}
    if not row.meta:
        del values["meta"]
    return json_of(row, {name: value for name, value in values.items() if value is not None})
