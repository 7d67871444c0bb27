"""Statistics of figures: intervals, tests of differences, and agreement between people.

``bootstrap_intervals`` computes intervals over documents, ``permutation_p`` tests paired differences, both by
``Groups`` of documents that share something, and ``krippendorff_alpha`` is the agreement of reviewers of links, or
raters of a study, corrected for chance. They are written with NumPy alone: the program serves without SciPy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha for nominal answers, exact except for the last division.

    Reference: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), for any number of raters and missing
    answers.

    Returns:
        1 for perfect agreement, 0 for agreement by chance, below 0 for less; None if no unit has two answers, or all
        answers are the same, so that chance would agree, too.
    """
    paired = [Counter(answers) for answers in units if len(answers) > 1]
    totals: Counter[Hashable] = sum(paired, Counter())
    n = totals.total()
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return None
    observed = sum(
        # Ordered pairs of unequal answers of a unit, over the number of its answers but one.
        (Fraction(count.total() ** 2 - sum(c * c for c in count.values()), count.total() - 1) for count in paired),
        Fraction(0),
    )
    return float(1 - (n - 1) * observed / expected)


RESAMPLINGS = 2000
LEVEL = 0.95

_DRAWS_AT_ONCE = 2_000_000  # about 32 MB


class Groups(NamedTuple):
    """The (documents,) numbers of their groups, from 0 as they appear, and how many groups a resampling draws."""

    of: NDArray[np.intp]
    drawn: int


LARGEST_GROUP = 0.1
"""Share of the documents that a group may have: fewer than about ten groups say little about others."""


def grouped(contents: Sequence[Sequence[int]]) -> Groups:
    """Group documents that share a picture or a text, connected through others, too.

    If a group is too large, texts do not count. If one still is, each document is a group, and only so many are drawn
    as there would be without any repeated picture, as if documents were as alike as the share of their common pictures.

    Args:
        contents: Of each document, at least one, keys of its pictures (above 0) and of its texts (below 0).
    """
    pictures = [sorted({key for key in keys if key > 0}) for keys in contents]
    for shared in (contents, pictures):
        of = _connected(shared)
        if np.bincount(of).max() <= max(1, LARGEST_GROUP * len(of)):
            return Groups(of, int(of.max()) + 1)
    times = Counter(key for keys in pictures for key in keys)
    alike = sum(sum(times[key] for key in keys) / len(keys) if keys else 1 for keys in pictures) / len(pictures)
    return Groups(np.arange(len(contents)), max(1, round(len(contents) / alike)))


def _connected(contents: Sequence[Iterable[int]]) -> NDArray[np.intp]:
    """Number the groups of documents that have a key in common, or both one with a third."""
    parent, first = list(range(len(contents))), dict[int, int]()

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    for number, keys in enumerate(contents):
        for key in keys:
            low, high = sorted((root(first.setdefault(key, number)), root(number)))
            parent[high] = low
    return np.unique([root(number) for number in parent], return_inverse=True)[1]


def resampled_counts(groups: Groups, resamplings: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield the number of times each document is drawn, with its group, in each resampling with replacement.

    Yields:
        (some resamplings, documents) float64, ``resamplings`` rows in all.
    """
    random, number = np.random.default_rng(seed), int(groups.of.max()) + 1
    rows = max(1, _DRAWS_AT_ONCE // len(groups.of))
    for start in range(0, resamplings, rows):
        count = min(rows, resamplings - start)
        drawn = random.integers(0, number, (count, groups.drawn))
        drawn += np.arange(count)[:, None] * number  # each row in a range of its own, so one bincount counts all
        counts = np.bincount(drawn.ravel(), minlength=count * number)
        yield counts.reshape(count, number).astype(np.float64)[:, groups.of]


def bootstrap_intervals(
    totals: NDArray[np.float64],
    weights: NDArray[np.float64],
    groups: Groups | None = None,
    *,
    lowest: float | None = None,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> NDArray[np.float64]:
    """95 % percentile intervals of the ratios Σ totals / Σ weights when documents are resampled.

    For a mean over documents the weights are 1. All columns use the same resamplings.

    Args:
        totals: (documents, figures), at least one document.
        weights: (documents, figures), above 0.
        groups: Documents that are drawn together; None for each on its own.
        lowest: The least value that a document can have, where 1 is the highest. Then documents that are all alike
            leave room for as many others as would be missed in 2.5 % of such samples.

    Returns:
        (figures, 2): low and high.
    """
    totals, weights = np.asarray(totals, np.float64), np.asarray(weights, np.float64)
    if totals.ndim != 2 or totals.shape != weights.shape or not len(totals):
        raise ShapeError(f"totals {totals.shape} and weights {weights.shape} must be the same (documents, figures)")
    groups = groups or Groups(np.arange(len(totals)), len(totals))
    ratios = np.concatenate(
        [(counts @ totals) / (counts @ weights) for counts in resampled_counts(groups, resamplings, seed)]
    )
    ends = interval_ends(ratios)
    if lowest is not None:
        alike = np.ptp(ends, axis=1) < 1e-12
        share = ((1 - LEVEL) / 2) ** (1 / groups.drawn)
        ends[alike] = share * ends[alike] + (1 - share) * np.array([lowest, 1])
    return ends


Interval = tuple[float, float]
"""Low and high end."""


def as_interval(ends: NDArray[np.float64]) -> Interval:
    """Return the ends of an interval from ``bootstrap_intervals`` or ``interval_ends`` as two floats."""
    low, high = ends.tolist()
    return low, high


def interval_ends(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., 2) ends of the 95 % intervals of (resamplings, ...) figures."""
    tail = (1 - LEVEL) / 2
    ends: NDArray[np.float64] = np.quantile(drawn, [tail, 1 - tail], axis=0).T
    return ends


PERMUTATIONS = 10_000

_EXACT = 13
"""For up to this many documents all 2^n swaps are tried; for more, there are more than ``PERMUTATIONS``."""

_SIGNS_AT_ONCE = 4_000_000


def permutation_p(differences: NDArray[np.float64], groups: Groups | None = None, *, seed: int = 0) -> float:
    """Two-sided p value of the paired permutation test: the two models of a group change places at random.

    Args:
        differences: (documents,), first minus second.
        groups: As for ``bootstrap_intervals``; where fewer are drawn than there are, the difference
            seen counts for less, by the square root of their share.

    Returns:
        Share of the swaps whose sum is at least as far from 0 as the one seen. Random swaps count the one seen among
        them, so that the value is never 0.
    """
    observed = abs(differences.sum())
    if groups is not None:
        differences = np.bincount(groups.of, differences).astype(np.float64)
        observed *= np.sqrt(groups.drawn / len(differences))
    slack = 1e-12 * max(1.0, float(np.abs(differences).sum()))  # sums that differ by rounding are equal
    exact = len(differences) <= _EXACT
    sign_flips = _all_signs(len(differences)) if exact else _random_signs(len(differences), seed)
    as_far = total = 0
    for signs in sign_flips:
        as_far += int((np.abs(signs @ differences) >= observed - slack).sum())
        total += len(signs)
    return as_far / total if exact else (as_far + 1) / (total + 1)


def _all_signs(documents: int) -> Iterator[NDArray[np.float64]]:
    bits = (np.arange(2**documents)[:, None] >> np.arange(documents)) & 1
    yield np.where(bits, 1.0, -1.0)


def _random_signs(documents: int, seed: int) -> Iterator[NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    rows = max(1, _SIGNS_AT_ONCE // documents)
    for start in range(0, PERMUTATIONS, rows):
        swap = random.integers(0, 2, (min(rows, PERMUTATIONS - start), documents))
        yield np.where(swap, 1.0, -1.0)
