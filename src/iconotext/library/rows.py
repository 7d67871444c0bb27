"""A picture as a row of the library's table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from iconotext.library.items import Item, documents_of, folders_of, places_from, places_text
from iconotext.library.match import words_of

SHOWN = ("digest", "vector", "places", "date", "relation_model", "offsets", "said", "taken")
"""Columns that a search needs: all but the small picture, and those that only conditions look at."""


def schema(dim: int) -> Any:
    """Columns of the table."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("digest", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
            pa.field("places", pa.string(), nullable=False),  # JSON
            pa.field("folders", pa.list_(pa.string())),
            pa.field("documents", pa.list_(pa.string())),
            pa.field("date", pa.timestamp("s")),  # local time, as cameras write it
            pa.field("relation_model", pa.string()),
            pa.field("offsets", pa.list_(pa.float32())),
            pa.field("thumbnail", pa.string()),
            pa.field("words", pa.string()),  # stems
            pa.field("said", pa.list_(pa.float16())),  # vectors of its texts, one after the other
            pa.field("taken", pa.bool_()),  # whether the date is the camera's
        ]
    )


def items_of(table: Any, dim: int) -> list[Item]:
    """Pictures from their rows, a table of Arrow."""
    vectors = [name for name in ("vector", "said") if name in table.column_names]  # as lists they take long
    rows: list[dict[str, Any]] = table.drop_columns(vectors).to_pylist()
    for name in vectors:
        for row, value in zip(rows, table[name], strict=True):
            known = value.values.to_numpy(zero_copy_only=False) if value.is_valid else None
            row[name] = None if known is None else np.asarray(known, np.float32).reshape(-1, dim)
    return [_item(row) for row in rows]


def _item(row: dict[str, Any]) -> Item:
    return Item(
        row["digest"],
        places_from(row["places"]),
        row["date"],
        row["vector"][0],
        None if row["offsets"] is None else np.asarray(row["offsets"], np.float32),
        row["relation_model"],
        row.get("thumbnail"),
        row["said"],
        row["taken"],
    )


def without_other_relations(item: Item, relation_model: str | None) -> Item:
    """The picture, without relations where they are of another model: a run that renews them is not through yet."""
    if item.relation_model == (relation_model or ""):
        return item
    return replace(item, places=tuple(replace(place, relations=None) for place in item.places), offsets=None)


def table_of(items: Sequence[Item], dim: int) -> Any:
    """Pictures as a table of Arrow."""
    import pyarrow as pa

    vectors = np.stack([item.vector for item in items]).astype(np.float32)
    places = [item.places for item in items]
    columns = {
        "digest": [item.digest for item in items],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim),
        "places": [places_text(each) for each in places],
        "folders": [folders_of(each) for each in places],
        "documents": [documents_of(each) for each in places],
        "date": [item.date for item in items],
        "relation_model": [item.relation_model for item in items],
        "offsets": [None if item.offsets is None else item.offsets.tolist() for item in items],
        "thumbnail": [item.thumbnail for item in items],
        "words": [words_of(each) for each in places],
        "said": [None if item.said is None else item.said.astype(np.float16).ravel() for item in items],
        "taken": [item.taken for item in items],
    }
    return pa.table(columns, schema=schema(dim))
