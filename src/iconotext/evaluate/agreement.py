"""Measures agreement between people, corrected for chance: reviewers of links, raters of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha for nominal answers, exact except for the last division.

    Reference: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), for any number of raters and missing
    answers.

    Args:
        units: The answers about each unit; units with fewer than two do not count.

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
