"""The habits of authors: where they put their images, learned from their own documents without labels.

Some authors put an image below the paragraph about it, some above the step that it shows, some at the end of the page.
Such a habit is a probability for each place of ``layout.PLACES``. The other evidence gives each image a distribution
over the sentences, hence over the places. All images together show which places are usual, and that in turn makes the
sentences at these places more probable. With K places, M the likelihood of an image's sentences at a place (the mean of
their odds without layout) and A pseudo-counts,

    share of place k for image j  =  M_jk (A_k + sum of the shares of the other images),  scaled to sum 1 over k

is iterated until nothing changes: collapsed variational Bayes of order zero (Asuncion et al. 2009) with a Dirichlet
prior. It is deterministic, and each image is judged by the habit of the other images. The pseudo-counts come from many
publishers, with a weight of ``STRENGTH`` images, and from the other documents of the collection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import SettingError
from iconotext.evidence.layout import OPENING, PLACES, Places, place_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Document, FloatMatrix

STRENGTH = 20.0
"""Weight of other publishers' habits, in images. From 5 to 60 the results hardly change."""

OPENING_SHARES = (0.30, 0.24, 0.12, 0.10, 0.10, 0.08, 0.06)
"""Shares of the places of images that open a section: three of four belong to its text, one of ten to its heading.

They are assumed, since hardly any document of the fit marks its headings. They count as ``STRENGTH`` images, too.
"""

MOST = 150.0
"""Largest weight of the collection's other documents, in images: a single document may differ from them."""

_STEPS, _TOLERANCE = 50, 1e-6  # of the iteration: largest number of steps, change of a share at which it ends
_MIN_IMAGES = 10  # images that are needed to report a habit
_SILENT = 0.2  # share of silent captions from which this share is reported

NAMED_HABITS: Mapping[str, tuple[int, ...]] = {
    "above": (*range(1, OPENING, 2), *range(OPENING, OPENING + 4)),
    "below": (*range(0, OPENING, 2), OPENING + 4, OPENING + 5),
    "inside": (0, 1, 2, 3),
}
"""Habits that a user can name: the places of ``PLACES`` at which images stand, seen from their sentence."""


Judged = Mapping[int, Sequence[int]]
"""Number of an image to the numbers of the sentences that people chose for it; () if they chose none."""


class PlaceEvidence(NamedTuple):
    """Evidence without layout about the places of V images; K places.

    Attributes:
        likelihood: (V, K) mean of the sentences' odds at each place; 0 where there is no sentence.
        sentences: (V, K) number of sentences at each place.
    """

    likelihood: NDArray[np.float64]
    sentences: NDArray[np.float64]

    def mixed(self, silent: float) -> PlaceEvidence:
        """Return the evidence if, with the probability ``silent``, it says nothing about an image's place."""
        mean = (self.likelihood * self.sentences).sum(axis=1, keepdims=True) / self.sentences.sum(axis=1, keepdims=True)
        mixed = (1 - silent) * self.likelihood / np.maximum(mean, 1e-300) + silent
        return self._replace(likelihood=mixed * (self.sentences > 0)) if silent else self


@dataclass(frozen=True)
class Habit:
    """The habit of a collection.

    Attributes:
        counts: Document id to (K,) inferred number of its images at each place.
        name: A name in ``NAMED_HABITS``, used instead of inference; None to infer.
        common: (K,) share of each place among other publishers; default: those in the package.
        judged: Document id to the human judgments of its images; see ``Judged``.
        silent: Share of its captions that say nothing about the sentence, 0 to 1; see ``combine.silent_share``.
    """

    counts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    name: str | None = None
    common: NDArray[np.float64] | None = None
    judged: Mapping[str, Judged] = field(default_factory=dict)
    silent: float = 0.0

    def __post_init__(self) -> None:
        if self.name is not None and self.name not in NAMED_HABITS:
            raise SettingError(f"no habit {self.name!r}; there are {', '.join(NAMED_HABITS)}")

    def pseudo_counts(self, document: str) -> NDArray[np.float64]:
        """Return the (K,) prior for a document's images, by common habits and the collection's other documents."""
        prior: NDArray[np.float64] = STRENGTH * (common_shares() if self.common is None else self.common)
        if self.name is not None:
            allowed = np.isin(np.arange(len(PLACES)), (*NAMED_HABITS[self.name], *range(OPENING, len(PLACES))))
            return np.where(allowed, prior, 0.0) * 1000 + 1e-3  # a thousand times as strong as an inferred habit
        others = np.maximum(self._total - self.counts.get(document, 0.0), 0.0)
        return prior + others * min(1.0, MOST / max(float(others.sum()), 1e-9))

    @cached_property
    def _total(self) -> NDArray[np.float64]:
        """(K,) the number of images at each place, in all documents."""
        return np.asarray(sum(self.counts.values(), np.zeros(len(PLACES))), np.float64)

    @property
    def digest(self) -> str:
        """Digest of the counts and of ``silent``, rounded."""
        counts = {name: count.round(4).tolist() for name, count in sorted(self.counts.items())}
        return hashlib.sha256(json.dumps([counts, round(self.silent, 4)]).encode()).hexdigest()

    @cached_property
    def summary(self) -> str | None:
        """The habit in words; None if inferred from too few images."""
        if self.name is not None:
            return f"pictures stand {self.name} their text, as given"
        total, images = self._total, float(self._total.sum())
        if round(images, 6) < _MIN_IMAGES:
            return None
        shares = {name: float(total[list(places)].sum()) / images for name, places in NAMED_HABITS.items()}
        side = "above" if shares["above"] > shares["below"] else "below"
        inside = f", {100 * shares['inside']:.0f} % inside their paragraph" if shares["inside"] >= 0.1 else ""
        words = f"pictures stand {side} their text ({100 * shares[side]:.0f} % of {images:.0f}{inside})"
        if self.silent < _SILENT:
            return words
        counted = f"captions, alternative texts and file names count for {100 * (1 - self.silent):.0f} %"
        return f"{words}; {counted}: many match their text no better than another text"


def collection_of(document: Document) -> str:
    """Return the name of the collection whose habits a document shares: its repository, book or site.

    It is ``meta.collection``, ``meta.repository`` or ``meta.book``; else, for a document from a corpus, the id up to
    its first slash; files that are linked together form one collection.
    """
    for key in ("collection", "repository", "book"):
        if isinstance(name := document.meta.get(key), str):
            return name
    return document.id.partition("/")[0] if document.source is None and "/" in document.id else ""


@cache
def common_shares() -> NDArray[np.float64]:
    """Return (K,) the mean share of images at each place over many publishers.

    The shares of images that open a section sum to 1, and so do the shares of the others, which
    ``python -m fitting evidence`` fits.
    """
    text = files("iconotext.evidence").joinpath("habit.json").read_text(encoding="utf-8")
    return np.array([*(json.loads(text)[place] for place in PLACES[:OPENING]), *OPENING_SHARES])


def place_evidence(place: Places, log_odds: FloatMatrix) -> PlaceEvidence:
    """Return the evidence about the places of the images of documents.

    ``log_odds``, (cells,), are those of the sentence for the image, by all evidence but layout.
    """
    cells = place.cells
    # Relative to the image's best sentence, so that nothing overflows; only ratios within an image count.
    odds = np.exp(log_odds.astype(np.float64) - cells.image_tops(log_odds)[cells.image])
    shape = (len(cells.of_image), len(PLACES))
    at = place.numbers + len(PLACES) * cells.image
    total = np.bincount(at, odds, shape[0] * shape[1]).reshape(shape)
    count = np.bincount(at, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    # The mean, not the sum: given the place, each of its sentences is as likely as another to be the right one.
    return PlaceEvidence(total / np.maximum(count, 1), count)


def joined_places(evidence: Sequence[PlaceEvidence]) -> PlaceEvidence:
    """Return the evidence of several documents, joined."""
    likelihood, sentences = zip(*evidence, strict=True)
    return PlaceEvidence(np.concatenate(likelihood), np.concatenate(sentences))


def judged_evidence(
    document: Document, places: PlaceEvidence, judged: Judged, numbers: Sequence[int] | None = None
) -> PlaceEvidence:
    """Replace the evidence about judged images: they are where their chosen sentences are, nowhere else.

    Args:
        numbers: (V,) number of each image of ``document`` in ``judged``; default 0 to V - 1.
    """
    image_numbers = range(len(document.images)) if numbers is None else numbers
    rows = [row for row, number in enumerate(image_numbers) if number in judged] if judged else []
    if not rows:
        return places
    numbers_of, likelihood = place_numbers(document), places.likelihood.copy()
    likelihood[rows] = 0.0
    for row in rows:
        sentences = judged[image_numbers[row]]
        np.add.at(likelihood[row], numbers_of[list(sentences), row], 1 / max(len(sentences), 1))
    return places._replace(likelihood=likelihood)


def infer_shares(
    places: PlaceEvidence, pseudo_counts: NDArray[np.float64], images: Sequence[int]
) -> tuple[NDArray[np.float64], ...]:
    """Run the iteration of this module for several documents, each until it no longer changes.

    Args:
        pseudo_counts: (documents, K), above 0.
        images: Number of images of each document, at least 1.

    Returns:
        (images, K) probability of each place by the habit of the document's other images, over the places that exist
        around the image; and (images, K) the same after the image's own evidence.
    """
    exists = places.sentences > 0
    prior = np.repeat(pseudo_counts, images, axis=0)
    habit = _scaled(exists * prior)
    shares = _scaled(places.likelihood * habit)
    document_of, moving = np.repeat(np.arange(len(images)), images), np.ones(len(images), np.bool_)
    begin = np.cumsum([0, *images[:-1]])
    # Only documents that still change go on, so that a document's result does not depend on the others.
    for _ in range(_STEPS if len(document_of) else 0):
        rows = np.flatnonzero(moving[document_of])
        others = prior[rows] + np.add.reduceat(shares, begin, axis=0)[document_of[rows]] - shares[rows]
        habit[rows] = _scaled(exists[rows] * others)
        after = _scaled(places.likelihood[rows] * habit[rows])
        change = np.zeros(len(document_of))
        change[rows] = np.abs(shares[rows] - after).max(axis=1)
        shares[rows] = after
        moving &= np.maximum.reduceat(change, begin) >= _TOLERANCE
        if not moving.any():
            break
    return habit, shares


def habit_probability(
    documents: Sequence[Document], place: Places, evidence: PlaceEvidence, habits: Sequence[Habit]
) -> FloatMatrix:
    """Return (cells,) the probability of each sentence by its place alone.

    Sentences at the same place share it equally.
    """
    prior = [habit.pseudo_counts(document.id) for document, habit in zip(documents, habits, strict=True)]
    shares, _ = infer_shares(evidence, np.stack(prior), place.cells.images.tolist())
    shared = shares / np.maximum(evidence.sentences, 1)
    return shared[place.cells.image, place.numbers].astype(np.float32)


def infer_habit(documents: Iterable[tuple[str, PlaceEvidence]], common: NDArray[np.float64] | None = None) -> Habit:
    """Infer the habit of a collection from the ids and the evidence of its documents; ``common`` as in ``Habit``."""
    named: Sequence[tuple[str, PlaceEvidence]] = list(documents)
    common = common_shares() if common is None else common
    if not named:
        return Habit(common=common)
    evidence = joined_places([places for _, places in named])
    _, shares = infer_shares(evidence, STRENGTH * common[None], [len(evidence.sentences)])  # as one document
    ends = np.cumsum([len(places.sentences) for _, places in named])
    parts = np.split(shares, ends[:-1])
    counts: dict[str, NDArray[np.float64]] = {}
    for (name, _), part in zip(named, parts, strict=True):
        counts[name] = counts.get(name, np.zeros(len(PLACES))) + part.sum(axis=0)
    return Habit(counts, common=common)


def _scaled(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    total = matrix.sum(axis=1, keepdims=True)
    scaled: NDArray[np.float64] = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
    return scaled
