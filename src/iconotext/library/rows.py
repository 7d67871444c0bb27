"""Rows of the library's table and the pictures in them: ``table_of`` writes, ``items_of`` and ``compared_of`` read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from iconotext.library.items import Compared, Item, Place, folders_of, words_of

COMPARED = ("digest", "vector", "said", "words")
"""Columns that a search reads for all candidates; reading them takes longer than finding the candidates."""

TOLD = ("digest", "places", "date", "relation_model", "offsets", "taken")
"""Further columns that a search reads for its results."""

PLACES = TypeAdapter(tuple[Place, ...])


def schema(dim: int) -> Any:
    """The schema of the table."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("digest", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dim), nullable=False),
            pa.field("places", pa.string(), nullable=False),  # JSON
            pa.field("owners", pa.list_(pa.string())),  # files that brought it in
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
    """Pictures from rows of an Arrow table."""
    compared = compared_of(table.append_column("_rowid", [range(len(table))]), dim)
    return told_of(table.select([*TOLD, "thumbnail"]), {each.digest: each for each in compared})


def told_of(table: Any, compared: Mapping[str, Compared]) -> list[Item]:
    """Full records of pictures, from an Arrow table with the columns ``TOLD`` and the compared columns by digest."""
    return [
        Item(
            row["digest"],
            PLACES.validate_json(row["places"]),
            row["date"],
            compared[row["digest"]].vector,
            None if row["offsets"] is None else np.asarray(row["offsets"], np.float32),
            row["relation_model"],
            row.get("thumbnail"),
            compared[row["digest"]].said,
            row["taken"],
            compared[row["digest"]].words,
        )
        for row in table.to_pylist()
    ]


def compared_of(table: Any, dim: int) -> list[Compared]:
    """The compared columns of pictures, from an Arrow table."""
    vectors, said = (_vectors(table[name], dim) for name in ("vector", "said"))  # lists would be slow
    digests, words, rows = (table[name].to_pylist() for name in ("digest", "words", "_rowid"))
    each = zip(digests, vectors, said, words, rows, strict=True)
    return [Compared(digest, vector[0], own, text or "", row) for digest, vector, own, text, row in each]


def _vectors(column: Any, dim: int) -> list[Any]:
    """(n, dim) vectors of each row; None for a row without any."""
    known = (value.values.to_numpy(zero_copy_only=False) if value.is_valid else None for value in column)
    return [None if value is None else np.asarray(value, np.float32).reshape(-1, dim) for value in known]


def table_of(items: Sequence[Item], dim: int) -> Any:
    """Pictures as an Arrow table."""
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
