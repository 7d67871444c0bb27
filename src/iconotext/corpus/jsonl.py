"""Our own format: one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from iconotext.corpus.json_lines import count_lines, json_lines
from iconotext.corpus.row import Record, Row, parse_row
from iconotext.corpus.strict_json import dump_json
from iconotext.errors import CorpusError
from iconotext.write import opened

count_jsonl = count_lines


def read_jsonl(path: Path) -> Iterator[Record]:
    """What each line holds.

    Raises:
        CorpusError: The file cannot be read.
    """
    for number, value, problem in json_lines(path):
        place = f"line {number}"
        yield parse_row(value, place) if problem is None else Record(place, None, (problem,))


def write_jsonl(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a line for each row; return how many.

    Raises:
        CorpusError: A row holds what JSON cannot.
        OutputError: The file exists, or cannot be written.
    """
    number = 0
    with opened(path, force=force) as file:
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
