"""A picture as a row of the library's table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from iconotext.library.items import Item, Place, folders_of, words_of

SHOWN = ("digest", "vector", "places", "date", "relation_model", "offsets", "said", "taken", "words")
"""Columns that a search needs: all but the small picture, and those that only conditions look at."""

PLACES = TypeAdapter(tuple[Place, ...])


def schema(dim: int) -> Any:
    """Columns of the table."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("digest", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
            pa.field("places", pa.string(), nullable=False),  # JSON
            pa.field("owners", pa.list_(pa.string())),  # the files that were added and brought it in
            pa.field("folders", pa.list_(pa.string())),
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
    vectors = [_vectors(table[name], dim) for name in ("vector", "said")]  # as lists they take long
    columns = [name for name in SHOWN if name not in ("vector", "said")]
    rows = table.select([*columns, *(["thumbnail"] if "thumbnail" in table.column_names else [])]).to_pylist()
    return [
        Item(
            row["digest"],
            PLACES.validate_json(row["places"]),
            row["date"],
            vector[0],
            None if row["offsets"] is None else np.asarray(row["offsets"], np.float32),
            row["relation_model"],
            row.get("thumbnail"),
            said,
            row["taken"],
            row["words"] or "",
        )
        for row, vector, said in zip(rows, *vectors, strict=True)
    ]


def _vectors(column: Any, dim: int) -> list[Any]:
    """(n, dim) vectors of each row; None for one without any."""
    known = (value.values.to_numpy(zero_copy_only=False) if value.is_valid else None for value in column)
    return [None if value is None else np.asarray(value, np.float32).reshape(-1, dim) for value in known]


def table_of(items: Sequence[Item], dim: int) -> Any:
    """Pictures as a table of Arrow."""
    import pyarrow as pa

    vectors = np.stack([item.vector for item in items]).astype(np.float32)
    places = [item.places for item in items]
    columns = {
        "digest": [item.digest for item in items],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim),
        "places": [PLACES.dump_json(each, exclude_defaults=True).decode() for each in places],
        "owners": [sorted({place.owner for place in each}) for each in places],
        "folders": [folders_of(each) for each in places],
        "date": [item.date for item in items],
        "relation_model": [item.relation_model for item in items],
        "offsets": [None if item.offsets is None else item.offsets.tolist() for item in items],
        "thumbnail": [item.thumbnail for item in items],
        "words": [words_of(each) for each in places],
        "said": [None if item.said is None else item.said.astype(np.float16).ravel() for item in items],
        "taken": [item.taken for item in items],
    }
    return pa.table(columns, schema=schema(dim))
