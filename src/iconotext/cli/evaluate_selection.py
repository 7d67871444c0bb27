"""What a model is measured on, and how: the split of a corpus, and the settings of ``iconotext evaluate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from iconotext.errors import CorpusError

if TYPE_CHECKING:
    from iconotext.types import Document


class Split(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class EvaluateSettings(BaseModel):
    """How a model is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = Field(0, ge=0)
    """Seed of the intervals, the permutations, the pools and the random baseline."""

    resamplings: int = Field(2000, ge=100)
    """How often the documents, or pairs, are drawn anew for an interval."""

    draws: int = Field(10, ge=1)
    """How many pools are drawn, with --pool."""

    word_vectors: Path | None = None
    """word2vec or GloVe file for object-detection (default: the text backbone)."""

    word_dim: int = Field(300, ge=1)
    """Length of the vectors in that file."""


@dataclass(frozen=True)
class Selection:
    """The documents of a corpus file that are evaluated.

    Attributes:
        path: The file.
        split: None for all documents.
        count: How many there are.
        splits: How many there are in every split of the file.
    """

    path: Path
    split: str | None
    count: int
    splits: Counter[str | None]

    def documents(self) -> Iterator[Document]:
        """One in memory at a time, in the order of the file."""
        return of_split(self.path, self.split)


def of_split(path: Path, split: str | None) -> Iterator[Document]:
    """The documents of a split, all without one, one in memory at a time."""
    from iconotext.corpus.store import read_corpus

    return (document for document in read_corpus(path) if split is None or document.split == split)


def select(corpus: Path, split: Split | None) -> Selection:
    """Read the whole corpus once, so that what is wrong with it shows before the work begins.

    Raises:
        CorpusError: It breaks the format, or has no documents in the split.
    """
    wanted = None if split is None else split.value
    splits = Counter(document.split for document in of_split(corpus, None))
    count = splits.total() if wanted is None else splits[wanted]
    if not count:
        there = ", ".join(f"{name or 'no split'} ({number})" for name, number in splits.items()) or "none at all"
        what = "no documents" if wanted is None else f"no documents with the split {wanted}"
        raise CorpusError(f"{corpus}: {what}; it has {there}")
    return Selection(corpus, wanted, count, splits)
