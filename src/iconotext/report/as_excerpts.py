"""Contexts and chunks as rows: JSON, JSON lines, a Parquet table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import OutputError
from iconotext.excerpts import Chunk, ChunkImage, Excerpt, SlimChunk, SlimImage
from iconotext.extras import require
from iconotext.plain_text import encodable, json_list, json_text
from iconotext.report.as_json import plain_number
from iconotext.report.context import Context
from iconotext.system.files import open_atomic, write_text

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".jsonl", ".parquet")
BATCH_ROWS = 1_000
"""Rows that are in memory before they are written."""

Excerpts = Context | Chunk | SlimChunk

NOUNS = {Context: "context", Chunk: "chunk", SlimChunk: "chunk"}
"""The word for rows of each class."""

_SLIM = (SlimChunk, SlimImage)
_LISTS: dict[tuple[type, str], type] = {
    (Context, "sentences"): Excerpt,
    (ChunkImage, "sentences"): Excerpt,
    (Chunk, "images"): ChunkImage,
    (SlimChunk, "images"): SlimImage,
}
# The fields that are integers, and those that are shares; all others are texts.
NUMBERS = frozenset(
    "image page sentence chunk first last start end source_start source_end words tokens also_in".split()
)
_SHARES = frozenset(("confidence", "paragraph_confidence", "score"))


def row(excerpt: Excerpts) -> dict[str, Any]:
    """Return a context or chunk as JSON data; numbers have six significant digits, in slim chunks three.

    Slim chunks have only the fields that are known.
    """
    plain: dict[str, Any] = _plain(excerpt)
    return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        plain = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, _SLIM):
            plain = {name: _rounded(own) for name, own in plain.items() if own is not None}
        return plain
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, float):
        return plain_number(value)
    return encodable(value) if isinstance(value, str) else value


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def json_array(excerpts: Iterable[Excerpts]) -> Iterator[str]:
    """Yield pieces of a JSON list of rows."""
    return json_list(map(row, excerpts))


def check_suffix(path: Path) -> None:
    """Check that a file name has a suffix of a known format."""
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(f"cannot tell from {path} what to write: name a file that ends in {' or '.join(SUFFIXES)}")


def write_excerpts(excerpts: Iterable[Excerpts], path: Path, kind: type[Excerpts], *, force: bool = False) -> None:
    """Write a row for each context or chunk, as JSON lines or Parquet, by the suffix.

    Args:
        excerpts: May be a generator; ``BATCH_ROWS`` rows are in memory.
        path: A file that ends in ``.jsonl`` or ``.parquet``.
        kind: The class of the rows, since a table needs its columns even without rows.

    Raises:
        OutputError: Another suffix, the file exists and ``force`` is not set, or it cannot be written.
        MissingPackageError: The format is Parquet, and pyarrow is not installed.
    """
    check_suffix(path)
    if path.suffix.lower() == ".jsonl":
        write_text(path, (json_text(row(excerpt)) + "\n" for excerpt in excerpts), force=force)
        return
    require("parquet", purpose="a table of Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(columns(kind))
    with open_atomic(path, force=force) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        rows = map(row, excerpts)
        while batch := list(islice(rows, BATCH_ROWS)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def columns(kind: type) -> pa.StructType:
    """Return the columns for the fields of a class."""
    import pyarrow as pa

    names = [f.name for f in fields(kind)]
    if kind is SlimImage:
        lists = {"sentences": pa.list_(pa.list_(pa.float64()))}
    else:
        lists = {name: pa.list_(columns(inner)) for (of, name), inner in _LISTS.items() if of is kind}
    types = {
        "headings": pa.list_(pa.string()),
        "relations": pa.map_(pa.string(), pa.float32()),
        **dict.fromkeys(NUMBERS, pa.int64()),
        **dict.fromkeys(_SHARES, pa.float32()),
        **lists,
    }
    return pa.struct([(name, types.get(name, pa.string())) for name in names])
