"""Contexts and chunks as rows: JSON, lines of JSON, Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import OutputError
from iconotext.excerpts import Chunk, ChunkImage, Context, Excerpt
from iconotext.extras import require
from iconotext.plain_text import encodable, json_list, json_text
from iconotext.report.as_json import plain_number
from iconotext.write import open_atomic, write_text

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".jsonl", ".parquet")
ROWS_AT_ONCE = 1_000
"""Rows that are in memory before they are written."""

_OTHERS = {"sentences": Excerpt, "images": ChunkImage}
NUMBERS = frozenset("image page sentence chunk first last start end source_start source_end words also_in".split())
_SHARES = frozenset(("confidence", "score"))


def row(found: Context | Chunk) -> dict[str, Any]:
    """A context or chunk as JSON data; numbers have six significant digits."""
    plain: dict[str, Any] = _plain(found)
    return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, float):
        return plain_number(value)
    return encodable(value) if isinstance(value, str) else value


def json_array(found: Iterable[Context | Chunk]) -> Iterator[str]:
    """Pieces of a JSON list of rows."""
    return json_list(map(row, found))


def check_suffix(path: Path) -> None:
    """Check that a file name has a suffix of a known format.

    Raises:
        OutputError: It has none.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(
            f"cannot tell from {path} what to write: name a file that ends in {' or '.join(SUFFIXES)}, "
            "or a folder, for a data set"
        )


def write_excerpts(
    found: Iterable[Context] | Iterable[Chunk], path: Path, kind: type[Context] | type[Chunk], *, force: bool = False
) -> None:
    """Write a row for each context or chunk, as JSON lines or Parquet, by the suffix.

    Args:
        found: May be a generator; ``ROWS_AT_ONCE`` rows are in memory.
        path: A file that ends in ``.jsonl`` or ``.parquet``.
        kind: The class of the rows, since a table needs its columns even without rows.

    Raises:
        OutputError: Another suffix, the file exists and ``force`` is not set, or it cannot be written.
        MissingPackageError: The format is Parquet, and pyarrow is not installed.
    """
    check_suffix(path)
    if path.suffix.lower() == ".jsonl":
        write_text(path, (json_text(row(each)) + "\n" for each in found), force=force)
        return
    require("parquet", purpose="a table of Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(columns(kind))
    with open_atomic(path, force=force) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        rows = map(row, found)
        while some := list(islice(rows, ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))


def columns(kind: type) -> pa.StructType:
    """The columns for the fields of a class."""
    import pyarrow as pa

    def type_of(name: str) -> pa.DataType:
        if name in _OTHERS:
            return pa.list_(columns(_OTHERS[name]))
        if name in NUMBERS:
            return pa.int64()
        if name in _SHARES:
            return pa.float32()
        special = {"headings": pa.list_(pa.string()), "relations": pa.map_(pa.string(), pa.float32())}
        return special.get(name, pa.string())

    return pa.struct([(each.name, type_of(each.name)) for each in fields(kind)])
