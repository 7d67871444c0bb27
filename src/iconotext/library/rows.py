"""A picture as a row of the library's table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.library.items import Item, Place, documents_of, folders_of, places_from, places_text
from iconotext.library.match import words_of

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

TOLD = ("digest", "places", "date", "taken", "relation_model", "offsets")
"""Columns that ``near_of`` needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """A picture that a search found.

    Attributes:
        digest: Names its content.
        similarity: Cosine with the query.
        places: Where it was found.
        date: When the camera took it, local time; None where that is not known.
        offsets: (R,) what it adds to the log-odds of each relation; None without a relation model.
        vector: (dim,) its own; None where nobody asked for it.
        said: (texts, dim) of what is said of it; None where nothing is, or nobody asked.
    """

    digest: str
    similarity: float
    places: tuple[Place, ...]
    date: datetime | None
    offsets: FloatMatrix | None
    vector: FloatMatrix | None = None
    said: FloatMatrix | None = None


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


def rows_of(table: Any, dim: int) -> list[dict[str, Any]]:
    """Rows as Python values; vectors as arrays, since a list of a thousand numbers takes long."""
    arrays = [name for name in ("vector", "said") if name in table.column_names]
    rows: list[dict[str, Any]] = table.drop_columns(arrays).to_pylist()
    for name in arrays:
        for row, value in zip(rows, table[name], strict=True):
            known = value.values.to_numpy(zero_copy_only=False) if value.is_valid else None
            row[name] = None if known is None else np.asarray(known, np.float32).reshape(-1, dim)
    return rows


def item_of(row: dict[str, Any]) -> Item:
    """A picture from its row."""
    return Item(
        row["digest"],
        places_from(row["places"]),
        row["date"],
        row["vector"][0],
        None if row["offsets"] is None else np.asarray(row["offsets"], np.float32),
        row["relation_model"],
        row["thumbnail"],
        row["said"],
        row["taken"],
    )


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


def near_of(row: dict[str, Any], similarity: float, relation_model: str | None) -> Near:
    """A picture that was found from its row; without relations where they are of another relation model."""
    places, offsets = places_from(row["places"]), row["offsets"]
    if row["relation_model"] != (relation_model or ""):  # a run that renews them is not through yet
        places, offsets = tuple(replace(place, relations=None) for place in places), None
    of_image = None if offsets is None else np.asarray(offsets, np.float32)
    date = row["date"] if row["taken"] else None
    vector = row["vector"][0] if "vector" in row else None
    return Near(row["digest"], similarity, places, date, of_image, vector, row.get("said"))
