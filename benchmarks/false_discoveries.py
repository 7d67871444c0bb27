"""What passes at a share of false ones, for all candidates at once; the thresholds are those of the package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from iconotext.decide.false_discovery import largest_p_value
from iconotext.decide.target_decoy import Competition


def competition(
    own: NDArray[np.float64],
    decoy: NDArray[np.float64],
    max_false: float,
    collections: Sequence[str | None] | None = None,
) -> NDArray[np.bool_]:
    """Which images win against their decoys clearly enough.

    Args:
        own: (n,) scores of the images.
        decoy: (n,) those of their decoys.
        max_false: Share of them that may be foreign.
        collections: (n,) theirs; all are of one by default.
    """
    names = collections or [None] * len(own)
    with Competition() as all_of_them:
        all_of_them.add(names, own, decoy)
        return all_of_them.thresholds(max_false).passed(names, own, decoy)


def benjamini_hochberg(p_values: NDArray[np.float64], max_false: float) -> NDArray[np.bool_]:
    """Which hypotheses are rejected: the k smallest p values, k the largest with p_(k) <= max_false k / n."""
    rejected: NDArray[np.bool_] = p_values <= largest_p_value(*np.unique(p_values, return_counts=True), max_false)
    return rejected
