"""A Parquet table with the columns of our JSON lines; ``meta`` is JSON text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from iconotext.corpus.formats.table import table_columns, table_parts, write_table
from iconotext.corpus.row import Part, Problem, Record, Row, json_of, parse_row
from iconotext.errors import CorpusError
from iconotext.strict_json import parse_json

REQUIRED = ("id", "sentences", "images")

RELATION = ["relation", "holds"]
"""The fields of a relation, in tables whose relations are no map."""


def parquet_parts(path: Path) -> Iterator[Part]:
    """The rows, in parts of one row group each.

    Raises:
        CorpusError: The file cannot be read, or lacks the columns of a corpus; the message names the column.
    """
    _check_columns(table_columns(path), path)
    return table_parts(path, _record)


def write_parquet(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a table; returns the number of rows."""
    import pyarrow as pa

    return write_table(((row.id, values_of(row)) for row in rows), schema_of(pa.string()), path, force=force)


def schema_of(image: Any, relations: Any = None) -> Any:
    """The schema of a table whose images, and relations (None for a map), have these pyarrow types."""
    import pyarrow as pa

    text, texts, numbers = pa.string(), pa.list_(pa.string()), pa.list_(pa.int32())
    return pa.schema(
        {
            "id": text,
            "split": text,
            "sentences": texts,
            "images": pa.list_(image),
            "links": pa.list_(numbers),
            "blocks": numbers,
            "positions": numbers,
            "captions": texts,
            "alts": texts,
            "relations": relations or pa.map_(text, pa.bool_()),
            "meta": text,
        }
    )


def _check_columns(columns: list[str], path: Path) -> None:
    known = ", ".join(Row.model_fields)
    for name in REQUIRED:
        if name not in columns:
            raise CorpusError(f"{path}, field {name}: no such column; a corpus has the columns {known}")
    for name in columns:
        if name not in Row.model_fields:
            raise CorpusError(f"{path}, field {name}: not a column of a corpus, which are {known}; put it into meta")
        if columns.count(name) > 1:
            raise CorpusError(f"{path}, field {name}: there are two columns of this name")


def _record(values: dict[str, Any], place: str) -> Record:
    """Parse a row; null counts as a missing field, and ``meta`` and ``relations`` have their Parquet forms."""
    values = {name: value for name, value in values.items() if value is not None}
    meta = values.get("meta")
    if isinstance(meta, str):
        try:
            values["meta"] = parse_json(meta)
        except ValueError as error:
            return Record(place, None, (Problem(place, "meta", str(error)),))
    relations = values.get("relations")
    if isinstance(relations, list) and all(isinstance(pair, tuple) for pair in relations):  # a map
        values["relations"] = dict(relations)
    elif isinstance(relations, list) and all(isinstance(each, dict) and [*each] == RELATION for each in relations):
        values["relations"] = {each["relation"]: each["holds"] for each in relations}
    return parse_row(values, place)


def values_of(row: Row) -> dict[str, Any]:
    """The columns of a row; ``CorpusError`` if JSON cannot hold its ``meta``."""
    values = {name: getattr(row, name) for name in Row.model_fields}
    relations = None if row.relations is None else list(row.relations.items())
    return values | {"meta": json_of(row, row.meta) if row.meta else None, "relations": relations}
