"""What a corpus holds, in numbers: Table 1 of Hessel 2019, Tables 1 and 2 of Alikhani 2021, and a little more."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from iconotext.types import Document


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many of something the documents have."""

    median: float
    mean: float
    max: int


@dataclass(frozen=True, slots=True)
class Answered:
    """How often a coherence relation was found.

    Attributes:
        yes: Documents that have it.
        known: Documents of which somebody said whether they have it.
    """

    yes: int
    known: int

    @property
    def rate(self) -> float | None:
        """Positive rate, 0 to 1 (Alikhani 2021, Tables 1 and 2); None where nobody said."""
        return self.yes / self.known if self.known else None


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """Numbers of a corpus.

    Attributes:
        splits: Documents of each split, ``none`` for those without.
        sentences: n, per document.
        images: m, per document.
        unique_images: Images with different paths or ids.
        links: Gold links of the documents where they are known, a pair that is written twice counted once.
        possible: Their pairs of a sentence and an image.
        mean_density: Mean over those documents of links / pairs; None where there are none with pairs.
        unknown: Documents whose links nobody knows.
        relations: By coherence relation, in the order in which they first come; empty where no document has any.
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
        """Gold links / possible links over the whole corpus (Table 1), 0 to 1; None where no links are known."""
        return self.links / self.possible if self.possible else None

    def as_json(self) -> dict[str, Any]:
        """The same as an object of JSON."""
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
                name: {"positive": found.yes, "answered": found.known, "rate": found.rate}
                for name, found in self.relations.items()
            },
        }


def corpus_stats(documents: Iterable[Document]) -> CorpusStats:
    """Count; one document is in memory at a time, and 8 bytes of every image."""
    splits: Counter[str] = Counter()
    sentences: Counter[int] = Counter()
    images: Counter[int] = Counter()
    unique: set[bytes] = set()
    links = possible = unknown = 0
    densities: list[float] = []
    answers: dict[str, Counter[bool | None]] = {}
    for document in documents:
        n, m = len(document.sentences), len(document.images)
        splits[document.split or "none"] += 1
        sentences[n] += 1
        images[m] += 1
        for image in document.images:
            unique.add(hashlib.blake2b(image.source.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        for name, answer in (document.meta.get("relations") or {}).items():
            answers.setdefault(name, Counter())[answer] += 1
        if document.links is None:
            unknown += 1
        elif n and m:
            found = len(set(document.links))
            links += found
            possible += n * m
            densities.append(found / (n * m))
    return CorpusStats(
        splits={name: splits[name] for name in ("train", "validation", "test", "none") if splits[name]},
        sentences=_sizes(sentences),
        images=_sizes(images),
        unique_images=len(unique),
        links=links,
        possible=possible,
        mean_density=sum(densities) / len(densities) if densities else None,
        unknown=unknown,
        relations={name: Answered(found[True], found[True] + found[False]) for name, found in answers.items()},
    )


def _sizes(counts: Counter[int]) -> Sizes:
    """Median, mean and maximum of numbers that are given by how often each occurs; 0 for none."""
    total = counts.total()
    if not total:
        return Sizes(0, 0, 0)
    middle = [(total - 1) // 2, total // 2]
    found: list[int] = []
    passed = 0
    for size in sorted(counts):
        passed += counts[size]
        while len(found) < 2 and middle[len(found)] < passed:
            found.append(size)
    return Sizes(sum(found) / 2, sum(size * n for size, n in counts.items()) / total, max(counts))
