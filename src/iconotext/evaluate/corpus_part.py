"""The documents of a corpus that are evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.store import read_corpus, read_rows
from iconotext.errors import CorpusError

if TYPE_CHECKING:
    from iconotext.types import Document


@dataclass(frozen=True)
class CorpusPart:
    """A corpus, or one split of it: how many documents there are, and how many in every split."""

    path: Path
    split: str | None
    count: int
    splits: Counter[str | None]

    def documents(self) -> Iterator[Document]:
        """One in memory at a time, in the order of the corpus."""
        return read_corpus(self.path, split=self.split)


def corpus_part(path: Path, split: str | None) -> CorpusPart:
    """Read the whole corpus once, so that what is wrong with it shows before the work begins.

    Raises:
        CorpusError: It breaks the format, or has no documents in the split.
    """
    splits: Counter[str | None] = Counter(row.split for row in read_rows(path))
    count = splits.total() if split is None else splits[split]
    if not count:
        there = ", ".join(f"{name or 'no split'} ({number})" for name, number in splits.items()) or "none at all"
        what = "no documents" if split is None else f"no documents with the split {split}"
        raise CorpusError(f"{path}: {what}; it has {there}")
    return CorpusPart(path, split, count, splits)
