"""What is remembered of the documents that were checked: numbers, since there may be many millions."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field

from iconotext.corpus.row import SPLITS, Split

_NUMBERED = re.compile(r"(\D*)(\d*)")
"""A place: ``line 3``, ``sample 3, its name``."""


@dataclass(slots=True)
class Known:
    """What is known of the documents of corpora that belong together, such as shards; these are known by numbers.

    Attributes:
        rows: Of each document 64 bits: the number in its place, the words before it, its split, whether it is a pair.
        words: What stands before the numbers of places: ``00000.parquet, row ``; as many as there are shards.
        of_id: By the hash of an id the first document that has it.
        of_picture: By what an image is known by the first document of a split that has it.
        leaked: What was told already.
    """

    rows: array[int] = field(default_factory=lambda: array("q"))
    words: list[str] = field(default_factory=list)
    of_id: dict[int, int] = field(default_factory=dict)
    of_picture: dict[int, int] = field(default_factory=dict)
    leaked: set[tuple[int, Split]] = field(default_factory=set)

    def add(self, place: str, split: Split | None, pair: bool, *, shard: str = "") -> int:
        """Note a document; its number."""
        word, number = _NUMBERED.match(place).groups()  # type: ignore[union-attr]  # it matches everything
        if not self.words or self.words[-1] != shard + word:
            self.words.append(shard + word)
        kind = 2 * (0 if split is None else 1 + SPLITS.index(split)) + pair
        self.rows.append((len(self.words) - 1) << 43 | int(number or 0) << 3 | kind)
        return len(self.rows) - 1

    def at(self, document: int) -> tuple[str, Split | None, bool]:
        """Place, split and whether it is a pair."""
        row = self.rows[document]
        split = (None, *SPLITS)[row >> 1 & 3]
        return f"{self.words[row >> 43]}{row >> 3 & (1 << 40) - 1 or ''}", split, bool(row & 1)
