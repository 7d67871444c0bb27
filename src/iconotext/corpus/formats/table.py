"""Parquet tables: our own corpus format (``parquet_parts``, ``write_parquet``), and tables of any other columns.

A few hundred rows are in memory at a time, fewer if they are large: ``table_parts`` measures row groups first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from iconotext.corpus.row import IMAGE_TEXTS, Part, Problem, Record, Row, json_of, parse_row
from iconotext.errors import CorpusError, one_line
from iconotext.extras import require
from iconotext.system.files import open_atomic
from iconotext.system.strict_json import parse_json
from iconotext.system.worker import LimitError, run_isolated

BATCH_ROWS = 256  # rows in memory while reading or writing; a long document is about 30 kB

ROWS_IN_GROUP = 4096  # rows in a row group, about 50 MB: another program must read at least one group

MAX_BATCH = 128 * 2**20
"""Bytes of the columns of the rows that are in memory together; as Python objects they take several times as much."""

MAX_VALUES = 2_000_000  # values of the rows that are in memory together

MAX_MEMORY, MAX_SECONDS = 768 * 2**20, 600.0
"""Limits, in bytes and seconds, for unpacking a row group in the worker process, which shows how many rows fit."""

RecordOf = Callable[[dict[str, Any], str], Record]  # makes a record of a row's columns and its place


def table_parts(path: Path, record: RecordOf, columns: Sequence[str] | None = None) -> Iterator[Part]:
    """Return parts of a table, one row group each; ``record`` is a function of a module."""
    with _opened(path) as table:
        sizes = [table.metadata.row_group(i).num_rows for i in range(table.num_row_groups)]
    starts = accumulate(sizes[:-1], initial=0) if sizes else ()
    return (partial(_records, path, group, start, record, columns) for group, start in enumerate(starts))


def table_columns(path: Path) -> list[str]:
    """Return the names of the columns, in order; ``CorpusError`` if the file cannot be read."""
    with _opened(path) as table:
        names: list[str] = table.schema_arrow.names
    return names


def count_rows(path: Path) -> int:
    """Return the number of rows; ``CorpusError`` if the file cannot be read."""
    with _opened(path) as table:
        return int(table.metadata.num_rows)


def write_table(rows: Iterable[tuple[str, dict[str, Any]]], schema: Any, path: Path, *, force: bool) -> int:
    """Write documents as a table: their ids (for errors) and columns. Returns the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    iterator, number = iter(rows), 0
    with open_atomic(path, force=force) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while True:
            group: list[Any] = []
            # Python objects are large: convert them to columns in small batches.
            for size in [BATCH_ROWS] * (ROWS_IN_GROUP // BATCH_ROWS):
                if batch := list(islice(iterator, size)):
                    group.append(_columns(batch, schema))
            if not group:
                return number
            table = pa.concat_tables(group)
            writer.write_table(table)
            number += table.num_rows


def _columns(rows: list[tuple[str, dict[str, Any]]], schema: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Table.from_pylist([values for _, values in rows], schema=schema)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        names = f"documents {rows[0][0]!r} to {rows[-1][0]!r}"
        raise CorpusError(f"{names}: cannot be written as Parquet: {one_line(error)}") from error


def _records(path: Path, group: int, before: int, record: RecordOf, columns: Sequence[str] | None) -> Iterator[Record]:
    number = before
    size = _rows_at_once(path, group, columns)
    with _opened(path) as table:
        for batch in table.iter_batches(batch_size=size, row_groups=[group], columns=columns):
            try:
                rows = batch.to_pylist()
            except (ValueError, OverflowError) as error:  # texts that are not UTF-8, dates out of range
                where = f"rows {number + 1} to {number + batch.num_rows}"
                raise CorpusError(f"{path}, {where}: cannot be read: {one_line(error)}") from error
            for values in rows:
                number += 1
                values, files = without_files(values)
                line = record(values, f"row {number}")
                yield replace(line, files=files, number=number - 1) if files else line


def table_rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield some columns of all rows; ``CorpusError`` if the file cannot be read."""
    with _opened(path) as table:
        for group in range(table.num_row_groups):
            size = _rows_at_once(path, group, columns)
            for batch in table.iter_batches(batch_size=size, row_groups=[group], columns=columns):
                yield from batch.to_pylist()


def _rows_at_once(path: Path, group: int, columns: Sequence[str] | None) -> int:
    """Return how many rows of a row group are read together; ``CorpusError`` if one row alone is too large.

    A file of a kilobyte can unpack to gigabytes, in one column or by one stored value that stands for many, and its
    declared sizes may be wrong. So a process with limited memory unpacks the group first.
    """
    for size in (BATCH_ROWS, BATCH_ROWS // 16, 1):
        with suppress(LimitError):
            if run_isolated(batches_fit, MAX_MEMORY, MAX_SECONDS, path, group, columns, size):
                return size
    raise CorpusError(
        f"{path}, row group {group + 1}: a row unpacks to more than {MAX_BATCH / 2**20:.0f} MiB or"
        f" {MAX_VALUES:,} values, or takes {MAX_MEMORY / 2**20:.0f} MiB of memory: split it"
    )


def batches_fit(path: Path, group: int, columns: Sequence[str] | None, size: int) -> bool:
    """Return whether all batches of this size of a row group stay within the limits; may take any amount of memory."""
    import pyarrow as pa

    with _opened(path) as table:
        try:
            for batch in table.iter_batches(batch_size=size, row_groups=[group], columns=columns):
                unpacked = [array for column in batch for array in _unpacked(column)]
                leaves = [array for array in unpacked if not pa.types.is_nested(array.type)]
                if sum(leaf.nbytes for leaf in leaves) > MAX_BATCH or sum(map(len, unpacked)) > MAX_VALUES:
                    return False
        except pa.ArrowMemoryError:
            return False
    return True


def _unpacked(array: Any) -> Iterator[Any]:
    """Yield an array and the arrays within it, without encodings in which one value stands for several."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    elif isinstance(array, pa.RunEndEncodedArray):
        array = pc.run_end_decode(array)
    if isinstance(array, pa.MapArray):
        within = [array.keys, array.items]
    elif isinstance(array, pa.StructArray):
        within = array.flatten()
    elif pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        within = [array.flatten()]
    else:
        within = []
    yield array
    for child in within:
        yield from _unpacked(child)


def files_of_row(file: Any, row: int) -> tuple[bytes | None, ...]:
    """Return the bytes of the images inside a row (from 0) of an open file; () if there is no such row."""
    with _opened(file) as table:
        group = 0
        while group < table.num_row_groups and row >= (rows := table.metadata.row_group(group).num_rows):
            group, row = group + 1, row - rows
        if group == table.num_row_groups:
            return ()
        for batch in table.iter_batches(batch_size=BATCH_ROWS, row_groups=[group], columns=["images"]):
            if row < batch.num_rows:
                return without_files(batch.slice(row, 1).to_pylist()[0])[1]
            row -= batch.num_rows
    return ()


def without_files(values: dict[str, Any]) -> tuple[dict[str, Any], tuple[bytes | None, ...]]:
    """Return the columns with the names of images, and the bytes of the images inside the row.

    Such an image is ``{"bytes", "path"}``, as in the Hugging Face library; without a path its name is its number.
    """
    images = values.get("images")
    if not isinstance(images, list) or not any(isinstance(image, dict) for image in images):
        return values, ()
    inside = [image if isinstance(image, dict) else None for image in images]
    names = [
        name if cell is None else cell.get("path") or f"image-{number}"
        for number, (name, cell) in enumerate(zip(images, inside, strict=True))
    ]
    cells = [cell for name, cell in zip(images, inside, strict=True) if name is not None]
    files = [cell.get("bytes") if cell else None for cell in cells]
    return values | {"images": names}, tuple(data if isinstance(data, bytes) else None for data in files)


@contextmanager
def _opened(path: Any) -> Iterator[Any]:
    """Open a table of a path or file object; errors of pyarrow while reading become ``CorpusError``."""
    require("parquet", purpose=f"{path}: a table of Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as table:
            yield table
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: no such file") from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: not a Parquet file that can be read ({one_line(error)})") from error


RELATION = ["relation", "holds"]  # the fields of a relation, in tables whose relations are not a map


def parquet_parts(path: Path) -> Iterator[Part]:
    """Return the rows, in parts of one row group each; ``CorpusError`` names a missing or unknown column."""
    columns, allowed = table_columns(path), ", ".join(Row.model_fields)
    for name in ("id", "sentences", "images"):
        if name not in columns:
            raise CorpusError(f"{path}, field {name}: no such column; a corpus has the columns {allowed}")
    for name in columns:
        if name not in Row.model_fields:
            raise CorpusError(f"{path}, field {name}: not a column of a corpus, which are {allowed}; put it into meta")
        if columns.count(name) > 1:
            raise CorpusError(f"{path}, field {name}: there are two columns of this name")
    return table_parts(path, table_record)


def write_parquet(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a table; returns the number of rows."""
    import pyarrow as pa

    return write_table(((row.id, values_of(row)) for row in rows), schema_of(pa.string()), path, force=force)


def schema_of(image: Any, relations: Any = None) -> Any:
    """Return the schema of a table whose images, and relations (None for a map), have these pyarrow types."""
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
            **dict.fromkeys(IMAGE_TEXTS, texts),
            "relations": relations or pa.map_(text, pa.bool_()),
            "meta": text,
        }
    )


def table_record(values: dict[str, Any], place: str) -> Record:
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
    elif isinstance(relations, list) and all(isinstance(r, dict) and [*r] == RELATION for r in relations):
        values["relations"] = {relation["relation"]: relation["holds"] for relation in relations}
    return parse_row(values, place)


def values_of(row: Row) -> dict[str, Any]:
    """Return the columns of a row; ``CorpusError`` if JSON cannot represent its ``meta``."""
    relations = None if row.relations is None else list(row.relations.items())
    return dict(row) | {"meta": json_of(row, row.meta) if row.meta else None, "relations": relations}
