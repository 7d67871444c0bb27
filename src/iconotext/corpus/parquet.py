"""The columns of our JSON lines as a Parquet table; ``meta`` is a text of JSON there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from iconotext.corpus.row import Part, Problem, Record, Row, parse_row
from iconotext.errors import CorpusError
from iconotext.strict_json import dump_json, parse_json
from iconotext.write import open_atomic

ROWS_AT_ONCE = 256
"""Rows in memory while reading or writing; a long document is about 30 kB."""

ROWS_IN_GROUP = 4096
"""Rows of a row group, about 50 MB: what another program has to read at least."""

REQUIRED = ("id", "sentences", "images")


def read_parquet(path: Path) -> Iterator[Record]:
    """What each row holds.

    Raises:
        CorpusError: The file cannot be read, or its columns are not those of a corpus; names the column.
    """
    for part in parquet_parts(path):
        yield from part()


def parquet_parts(path: Path) -> Iterator[Part]:
    """The same in parts, a row group each.

    Raises:
        CorpusError: As ``read_parquet``.
    """
    _check_columns(parquet_columns(path), path)
    return parquet_groups(path, _record)


def parquet_groups(
    path: Path, record: Callable[[dict[str, Any], str], Record], columns: Sequence[str] | None = None
) -> Iterator[Part]:
    """Parts of a table, a row group each.

    Args:
        path: The table.
        record: What is made of each row: of its columns, and its place.
        columns: Those that are read; None: all.

    Raises:
        CorpusError: The file cannot be read.
    """
    with parquet_table(path) as table:
        sizes = [table.metadata.row_group(i).num_rows for i in range(table.num_row_groups)]
    before = accumulate(sizes, initial=0)
    return (
        partial(_group, path, i, first, record, columns) for i, first in zip(range(len(sizes)), before, strict=False)
    )


def _group(
    path: Path,
    group: int,
    before: int,
    record: Callable[[dict[str, Any], str], Record],
    columns: Sequence[str] | None,
) -> Iterator[Record]:
    number = before
    with parquet_table(path) as table:
        for batch in table.iter_batches(batch_size=ROWS_AT_ONCE, row_groups=[group], columns=columns):
            for values in _rows_of(batch, path, number):
                number += 1
                yield record(values, f"row {number}")


def parquet_columns(path: Path) -> list[str]:
    """Names of the columns, in their order.

    Raises:
        CorpusError: The file cannot be read.
    """
    with parquet_table(path) as table:
        names: list[str] = table.schema_arrow.names
    return names


def count_parquet(path: Path) -> int:
    """Number of rows.

    Raises:
        CorpusError: The file cannot be read.
    """
    with parquet_table(path) as table:
        return int(table.metadata.num_rows)


def write_parquet(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a table; return the number of rows.

    Raises:
        CorpusError: A row holds what the table cannot.
        OutputError: The file exists, or cannot be written.
    """
    import pyarrow as pa

    schema = pa.schema(
        [
            ("id", pa.string()),
            ("split", pa.string()),
            ("sentences", pa.list_(pa.string())),
            ("images", pa.list_(pa.string())),
            ("links", pa.list_(pa.list_(pa.int32()))),
            ("blocks", pa.list_(pa.int32())),
            ("positions", pa.list_(pa.int32())),
            ("captions", pa.list_(pa.string())),
            ("alts", pa.list_(pa.string())),
            ("relations", pa.map_(pa.string(), pa.bool_())),
            ("meta", pa.string()),
        ]
    )
    return write_table(((row.id, _values(row)) for row in rows), schema, path, force=force)


def write_table(rows: Iterable[tuple[str, dict[str, Any]]], schema: Any, path: Path, *, force: bool) -> int:
    """Write the columns of documents as a table.

    Args:
        rows: Of each document its id, for errors, and its columns.
        schema: A schema of pyarrow.
        path: The table.
        force: Replace a file that is there.

    Returns:
        The number of rows.

    Raises:
        CorpusError: A row holds what the table cannot.
        OutputError: The file exists, or cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    with open_atomic(path, force=force) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        waiting: list[tuple[str, dict[str, Any]]] = []
        group: list[Any] = []
        for number, row in enumerate(rows, start=1):
            waiting.append(row)
            if len(waiting) == ROWS_AT_ONCE:  # Python objects are large: make them columns before there are many
                group.append(_arrow_table(waiting, schema))
                waiting = []
            if number % ROWS_IN_GROUP == 0:
                writer.write_table(pa.concat_tables(group))
                group = []
        if waiting:
            group.append(_arrow_table(waiting, schema))
        if group:
            writer.write_table(pa.concat_tables(group))
    return number


@contextmanager
def parquet_table(path: Path) -> Iterator[Any]:
    """The opened file; what pyarrow raises while it is read becomes a CorpusError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as table:
            yield table
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: no such file") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or _one_line(error)}") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: not a Parquet file that can be read ({_one_line(error)})") from error


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


def _rows_of(batch: Any, path: Path, before: int) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (ValueError, OverflowError) as error:  # texts that are not UTF-8, dates out of range
        raise CorpusError(
            f"{path}, rows {before + 1} to {before + batch.num_rows}: cannot be read: {_one_line(error)}"
        ) from error
    return rows


def _record(values: dict[str, Any], place: str) -> Record:
    """Parse a row, with nulls taken as what is not said, and ``meta`` and ``relations`` in the forms Parquet has."""
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
    return parse_row(values, place)


def _values(row: Row) -> dict[str, Any]:
    try:
        meta = dump_json(row.meta) if row.meta else None
    except ValueError as error:
        raise CorpusError(f"document {row.id!r}, field meta: cannot be written as JSON: {error}") from error
    values = {name: getattr(row, name) for name in Row.model_fields}
    relations = None if row.relations is None else list(row.relations.items())
    return values | {"meta": meta, "relations": relations}


def _arrow_table(rows: list[tuple[str, dict[str, Any]]], schema: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Table.from_pylist([values for _, values in rows], schema=schema)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        names = f"documents {rows[0][0]!r} to {rows[-1][0]!r}"
        raise CorpusError(f"{names}: cannot be written as Parquet: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
