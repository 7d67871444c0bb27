"""Which cells of a matrix become links.

Every selection takes the confidences, (S, V) float, and returns an (S, V) bool matrix. Cells below ``min_confidence``
never become links: an image may stay without one. Ties go to the first sentence, then the first image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from iconotext.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

Selection = Literal["top-k", "best", "assignment", "threshold"]


def top_k(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """The k most confident sentences of every image.

    Raises:
        SettingError: k is below 1.
    """
    if k < 1:
        raise SettingError(f"k is {k}, it must be 1 or more")
    order = np.argsort(-confidence, axis=0, kind="stable")[:k]
    chosen = np.zeros(confidence.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, True, axis=0)
    return chosen & (confidence >= min_confidence)


def best(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """The most confident sentence of every image; ``k`` is not used."""
    return top_k(confidence, k=1, min_confidence=min_confidence)


def assignment(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """Every image to one sentence at most and the reverse, with the largest sum of confidences; ``k`` is not used.

    That is the matching with the largest expected number of right links, exactly.
    """
    chosen = np.zeros(confidence.shape, dtype=np.bool_)
    if confidence.size == 0:
        return chosen
    from scipy.optimize import linear_sum_assignment  # takes rectangles as they are; lap pads them to squares

    allowed = confidence >= min_confidence
    rows = np.flatnonzero(allowed.any(axis=1))  # sentences that no image may take only make the problem larger
    value = np.where(allowed, confidence, 0.0)[rows]
    sentences, images = linear_sum_assignment(value, maximize=True)
    chosen[rows[sentences], images] = True
    return chosen & allowed


def threshold(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """Every cell of at least ``min_confidence``; ``k`` is not used."""
    return confidence >= min_confidence


SELECTIONS: Mapping[Selection, Callable[..., NDArray[np.bool_]]] = {
    "top-k": top_k,
    "best": best,
    "assignment": assignment,
    "threshold": threshold,
}
"""Every selection by its name."""


def selection(name: str) -> Callable[..., NDArray[np.bool_]]:
    """The selection of that name.

    Raises:
        SettingError: There is none.
    """
    for known, function in SELECTIONS.items():
        if known == name:
            return function
    raise SettingError(f"no selection {name!r}; there are {', '.join(SELECTIONS)}")
