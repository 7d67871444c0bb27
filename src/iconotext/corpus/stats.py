"""Statistics of a corpus: the counts in Table 1 of Hessel 2019 and Tables 1 and 2 of Alikhani 2021."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from iconotext.corpus.row import SPLITS, Row


@dataclass(frozen=True, slots=True)
class PublishedSizes:
    """The published sizes of a data set.

    Attributes:
        documents: Numbers of documents in training, validation and test.
        median: Median number of sentences and images of a document.
        images: Different images, to the nearest thousand.
        density: Gold links over possible links, in percent; None without gold links.
        mean: Mean number of sentences and images of a document; None if not given.
        max: Largest number of sentences and images of a document; None if not given.
        rounding: Unit to which the documents are rounded: 1000 for "22K".
    """

    documents: tuple[int, int, int]
    median: tuple[int, int]
    images: int
    density: int | None
    mean: tuple[float, float] | None = None
    max: tuple[int, int] | None = None
    rounding: int = 1000


@dataclass(frozen=True, slots=True)
class Sizes:
    """Statistics of the number of sentences, or images, per document.

    Attributes:
        median: 0 without documents, like mean and maximum.
    """

    median: float
    mean: float
    max: int


@dataclass(frozen=True, slots=True)
class Answered:
    """How often a coherence relation holds: in ``yes`` of the ``total`` documents for which this was answered."""

    yes: int
    total: int

    @property
    def rate(self) -> float | None:
        """Positive rate, 0 to 1 (Alikhani 2021, Tables 1 and 2); None without answers."""
        return self.yes / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """The counts of a corpus.

    Attributes:
        sentences: n, per document.
        images: m, per document.
        unique_images: Number of images with different paths or ids.
        links: Gold links in documents with known links, without repetitions.
        possible: Pairs of a sentence and an image in these documents.
        mean_density: Mean of links / pairs over these documents; None if none has pairs.
        unknown: Number of documents with unknown links.
        relations: Coherence relation to its counts, in order of appearance; empty without any.
    """

    splits: dict[str, int]
    sentences: Sizes
    images: Sizes
    unique_images: int
    links: int
    possible: int
    mean_density: float | None
    unknown: int
    relations: dict[str, Answered] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return sum(self.splits.values())

    @property
    def density(self) -> float | None:
        """Gold links / possible links over the whole corpus (Table 1), 0 to 1; None if no links are known."""
        return self.links / self.possible if self.possible else None

    def as_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return {
            "documents": self.documents,
            "splits": self.splits,
            "sentences": {"median": self.sentences.median, "mean": self.sentences.mean, "max": self.sentences.max},
            "images": {"median": self.images.median, "mean": self.images.mean, "max": self.images.max},
            "unique_images": self.unique_images,
            "links": self.links,
            "density": self.density,
            "mean_density": self.mean_density,
            "unknown_links": self.unknown,
            "relations": {
                name: {"positive": answers.yes, "answered": answers.total, "rate": answers.rate}
                for name, answers in self.relations.items()
            },
        }


class Counting:
    """Counts documents one by one; memory holds only sums, and 8 bytes for each image."""

    def __init__(self) -> None:
        self._splits: Counter[str] = Counter()
        self._sentences: Counter[int] = Counter()
        self._images: Counter[int] = Counter()
        self._sources = array("q")  # Python's keyed hashes: any two of ten million agree 3 times in a million
        self._links = self._possible = self._unknown = self._with_links = 0
        self._densities = 0.0
        self._answers: dict[str, Counter[bool | None]] = {}

    def add(self, row: Row) -> None:
        """Count a document."""
        n, m = len(row.sentences), len(row.images)
        self._splits[row.split or "none"] += 1
        self._sentences[n] += 1
        self._images[m] += 1
        self._sources.extend(map(hash, row.images))
        for name, answer in (row.relations or {}).items():
            self._answers.setdefault(name, Counter())[answer] += 1
        if row.links is None:
            self._unknown += 1
        elif n and m:
            links = len(set(row.links))
            self._links += links
            self._possible += n * m
            self._densities += links / (n * m)
            self._with_links += 1

    def stats(self) -> CorpusStats:
        """Return the counts so far."""
        import numpy as np

        return CorpusStats(
            splits={name: self._splits[name] for name in (*SPLITS, "none") if self._splits[name]},
            sentences=_sizes(self._sentences),
            images=_sizes(self._images),
            unique_images=len(np.unique(np.frombuffer(self._sources, np.int64))),
            links=self._links,
            possible=self._possible,
            mean_density=self._densities / self._with_links if self._with_links else None,
            unknown=self._unknown,
            relations={
                name: Answered(answers[True], answers[True] + answers[False]) for name, answers in self._answers.items()
            },
        )


def row_stats(rows: Iterable[Row]) -> CorpusStats:
    """Count the rows of a corpus, one at a time, without locating images."""
    counting = Counting()
    for row in rows:
        counting.add(row)
    return counting.stats()


def _sizes(counts: Counter[int]) -> Sizes:
    """Return median, mean and maximum of numbers, given how often each occurs; 0 for none."""
    total = counts.total()
    if not total:
        return Sizes(0, 0, 0)
    mean = sum(size * n for size, n in counts.items()) / total
    return Sizes(float(median(counts.elements())), mean, max(counts))
