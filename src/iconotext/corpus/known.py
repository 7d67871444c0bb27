"""Remembers the documents that were checked, as numbers, since there may be many millions."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field

from iconotext.corpus.row import SPLITS, Split

_NUMBERED = re.compile(r"(\D*)(\d*)")
"""Splits a place, such as ``line 3`` or ``sample 3, its name``, into words and number."""


@dataclass(slots=True)
class Known:
    """The documents of corpora that belong together, such as shards; documents are numbered.

    Attributes:
        rows: For each document 64 bits: the number in its place, the words before the number, its split, whether it is
            a pair.
        words: Words before the numbers of places, such as ``00000.parquet, row ``; one entry per shard.
        of_id: Hash of an id to the first document with it.
        of_picture: Key of an image to the first document with it that has a split.
        leaked: (image key, split) pairs that were reported already.
    """

    rows: array[int] = field(default_factory=lambda: array("q"))
    words: list[str] = field(default_factory=list)
    of_id: dict[int, int] = field(default_factory=dict)
    of_picture: dict[int, int] = field(default_factory=dict)
    leaked: set[tuple[int, Split]] = field(default_factory=set)

    def add(self, place: str, split: Split | None, pair: bool, *, shard: str = "") -> int:
        """Record a document; returns its number."""
        word, number = _NUMBERED.match(place).groups()  # type: ignore[union-attr]  # always matches
        if not self.words or self.words[-1] != shard + word:
            self.words.append(shard + word)
        kind = 2 * (0 if split is None else 1 + SPLITS.index(split)) + pair
        self.rows.append((len(self.words) - 1) << 43 | int(number or 0) << 3 | kind)
        return len(self.rows) - 1

    def at(self, document: int) -> tuple[str, Split | None, bool]:
        """Place, split, and whether it is a pair."""
        row = self.rows[document]
        split = (None, *SPLITS)[row >> 1 & 3]
        return f"{self.words[row >> 43]}{row >> 3 & (1 << 40) - 1 or ''}", split, bool(row & 1)
