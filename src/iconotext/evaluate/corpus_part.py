"""The documents of a corpus that are evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import CorpusError
from iconotext.scale.as_corpus import corpus_files, documents_of, rows_of

if TYPE_CHECKING:
    from iconotext.types import Document


@dataclass(frozen=True)
class CorpusPart:
    """A corpus, or one split of it: how many documents there are, and how many in every split.

    Attributes:
        path: As it was named.
        files: It alone, or the shards of a folder.
    """

    path: Path
    split: str | None
    count: int
    splits: Counter[str | None]
    files: tuple[Path, ...]

    def documents(self) -> Iterator[Document]:
        """One in memory at a time, in the order of the corpus."""
        return self.of(self.split)

    def of(self, split: str | None) -> Iterator[Document]:
        """Those of another split; None: all."""
        inside = self.files != (self.path,)
        return (d for file in self.files for d in documents_of(file, split=split, inside=inside))


def corpus_part(path: Path, split: str | None) -> CorpusPart:
    """Read the whole corpus once, so that what is wrong with it shows before the work begins.

    Args:
        path: A corpus, or a folder of shards, here or in a store, each with its pictures in its rows, in a tar of its
            name, or beside it.

    Raises:
        CorpusError: It breaks the format, two shards have a document of the same id, or there are no documents in the
            split.
    """
    files = corpus_files(path)
    splits: Counter[str | None] = Counter()
    seen: dict[str, Path] = {}
    for file in files:
        for row in rows_of(file):
            splits[row.split] += 1
            if seen.setdefault(row.id, file) != file:
                raise CorpusError(f"{file}: {row.id!r} is also the id of a document in {seen[row.id]}")
    count = splits.total() if split is None else splits[split]
    if not count:
        there = ", ".join(f"{name or 'no split'} ({number})" for name, number in splits.items()) or "none at all"
        what = "no documents" if split is None else f"no documents with the split {split}"
        raise CorpusError(f"{path}: {what}; it has {there}")
    return CorpusPart(path, split, count, splits, files)
