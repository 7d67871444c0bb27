"""Statistics of figures: bootstrap intervals over documents, and agreement between people.

``bootstrap_intervals`` computes the intervals, ``krippendorff_alpha`` the agreement of reviewers of links, or raters of
a study, corrected for chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

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
        (Fraction(count.total() ** 2 - sum(c * c for c in count.values()), count.total() - 1) for count in paired),
        Fraction(0),
    )
    return float(1 - (n - 1) * observed / expected)


RESAMPLINGS = 2000
LEVEL = 0.95

_DRAWS_AT_ONCE = 2_000_000  # about 32 MB


def resampled_counts(documents: int, resamplings: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield the number of times each document is drawn in each resampling with replacement.

    Args:
        documents: Number of documents, at least 1.

    Yields:
        (some resamplings, documents) float64, ``resamplings`` rows in all.
    """
    random = np.random.default_rng(seed)
    rows = max(1, _DRAWS_AT_ONCE // documents)
    for start in range(0, resamplings, rows):
        some = min(rows, resamplings - start)
        drawn = random.integers(0, documents, (some, documents))
        drawn += np.arange(some)[:, None] * documents
        counts = np.bincount(drawn.ravel(), minlength=some * documents)
        yield counts.reshape(some, documents).astype(np.float64)


def bootstrap_intervals(
    totals: NDArray[np.float64], weights: NDArray[np.float64], *, resamplings: int = RESAMPLINGS, seed: int = 0
) -> NDArray[np.float64]:
    """95 % percentile intervals of the ratios Σ totals / Σ weights when documents are resampled.

    For a mean over documents the weights are 1. All columns use the same resamplings.

    Args:
        totals: (documents, figures), at least one document.
        weights: (documents, figures), above 0.

    Returns:
        (figures, 2): low and high.
    """
    totals, weights = np.asarray(totals, np.float64), np.asarray(weights, np.float64)
    if totals.ndim != 2 or totals.shape != weights.shape or not len(totals):
        raise ShapeError(f"totals {totals.shape} and weights {weights.shape} must be the same (documents, figures)")
    ratios = np.concatenate(
        [(counts @ totals) / (counts @ weights) for counts in resampled_counts(len(totals), resamplings, seed)]
    )
    return interval_ends(ratios)


Interval = tuple[float, float]
"""Low and high end."""


def as_interval(ends: NDArray[np.float64]) -> Interval:
    """One of the intervals from ``bootstrap_intervals`` or ``interval_ends``."""
    low, high = ends.tolist()
    return low, high


def interval_ends(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., 2) ends of the 95 % intervals of (resamplings, ...) figures."""
    tail = (1 - LEVEL) / 2
    ends: NDArray[np.float64] = np.quantile(drawn, [tail, 1 - tail], axis=0).T
    return ends
