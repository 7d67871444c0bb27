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
    """A corpus, or one split of it, with the number of documents, in all and in every split.

    Attributes:
        path: As the user named it.
        files: The corpus file, or the shards of a folder.
    """

    path: Path
    split: str | None
    count: int
    splits: Counter[str | None]
    files: tuple[Path, ...]

    def documents(self) -> Iterator[Document]:
        """The documents in order, one in memory at a time."""
        return self.of(self.split)

    def of(self, split: str | None) -> Iterator[Document]:
        """The documents of another split; None for all."""
        inside = self.files != (self.path,)
        return (d for file in self.files for d in documents_of(file, split=split, inside=inside))


def corpus_part(path: Path, split: str | None) -> CorpusPart:
    """Read the whole corpus once, so that its errors are found before the work begins.

    Args:
        path: A corpus, or a folder of shards, also in a store; pictures are in rows, in a tar of the same name, or
            beside it.

    Raises:
        CorpusError: It breaks the format, two shards have a document with the same id, or the split has no documents.
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
