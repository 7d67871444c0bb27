"""What passes at a share of false ones, for all candidates at once; ``links.promise`` has the thresholds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iconotext.links.promise import largest_p_value, smallest_score


def competition(own: NDArray[np.float64], decoy: NDArray[np.float64], max_false: float) -> NDArray[np.bool_]:
    """Which images win against their decoys clearly enough.

    Args:
        own: (n,) scores of the images.
        decoy: (n,) those of their decoys.
        max_false: Share of them that may be foreign.
    """
    won = own > decoy
    passed: NDArray[np.bool_] = won & (own >= smallest_score(np.sort(own[won]), np.sort(decoy[~won]), max_false))
    return passed


def benjamini_hochberg(p_values: NDArray[np.float64], max_false: float) -> NDArray[np.bool_]:
    """Which hypotheses are rejected: the k smallest p values, k the largest with p_(k) <= max_false k / n."""
    rejected: NDArray[np.bool_] = p_values <= largest_p_value(*np.unique(p_values, return_counts=True), max_false)
    return rejected
