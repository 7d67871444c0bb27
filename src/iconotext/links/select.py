"""Selections: choose which cells of a matrix become links.

Every selection takes the confidences, (S, V) float, and returns an (S, V) bool matrix. Cells below ``min_confidence``
never become links, so an image may stay without one. Ties go to the first sentence, then the first image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from iconotext.errors import SettingError
from iconotext.similarity.matching import best_matching

_NEVER = 1e-9  # smallest weight of "no sentence" for an image: an impossible order must not divide by 0

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

Selection = Literal["top-k", "best", "order", "assignment", "threshold"]

STEP_BACK = 0.0067
"""Factor for an image whose sentence comes before the sentence of the previous image: exp(-5), chosen among exp(0) to
exp(-8) with captions alone, for each of 19 books and guides on the other 18, with the same result every time."""


def top_k(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """The k most confident sentences of every image; ``SettingError`` if k is below 1."""
    if k < 1:
        raise SettingError(f"k is {k}, it must be 1 or more")
    order = np.argsort(-confidence, axis=0, kind="stable")[:k]
    chosen = np.zeros(confidence.shape, dtype=np.bool_)
    chosen[order, np.arange(confidence.shape[1])] = True
    return chosen & (confidence >= min_confidence)


def best(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """The most confident sentence of every image; ``k`` is not used."""
    return top_k(confidence, k=1, min_confidence=min_confidence)


def assignment(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """The one-to-one matching of images and sentences with the largest sum of confidences; ``k`` is not used.

    It has the largest expected number of right links.
    """
    chosen = np.zeros(confidence.shape, dtype=np.bool_)
    if confidence.size == 0:
        return chosen
    allowed = confidence >= min_confidence
    rows = np.flatnonzero(allowed.any(axis=1))  # the other sentences would only make the problem larger
    value = np.where(allowed, confidence, 0.0)[rows]
    sentences, images = best_matching(value)
    chosen[rows[sentences], images] = True
    return chosen & allowed


def in_order(confidence: FloatMatrix, *, step_back: float = STEP_BACK) -> FloatMatrix:
    """Adjust the confidences for documents in which images follow the order of their sentences.

    A hidden Markov model: each image takes a sentence, or none, by its confidences; an image that takes an earlier
    sentence than the last one that took any has a factor of ``step_back``. Solved exactly, with forward-backward sums.
    The prior probability that images follow the order is one half; the confidences update it.

    Args:
        confidence: (S, V), sentences and images in reading order; what a column lacks to 1 is for no sentence.
        step_back: Above 0, at most 1; 1 changes nothing.

    Returns:
        (S, V) float32, the mean of the confidences with and without the order, weighted by their probabilities.
    """
    if confidence.size == 0:
        return confidence
    own = np.vstack([np.zeros(confidence.shape[1]), confidence.astype(np.float64)])  # row 0: before any sentence
    level = np.vstack([np.zeros(confidence.shape[1]), np.broadcast_to(own[1:].mean(axis=0), confidence.shape)])
    none = np.maximum(1.0 - own.sum(axis=0), _NEVER)
    reached, evidence = _forward(own, none, step_back)
    against = _forward(level, none, step_back)[1] + np.log(own.sum(axis=0) + none).sum()
    ordered = 1.0 / (1.0 + np.exp(np.clip(against - evidence, -700, 700)))
    found, after = np.zeros(confidence.shape, np.float32), np.ones(len(own))
    for j in reversed(range(confidence.shape[1])):
        taken = own[:, j] * _stepped(reached[j], step_back) * after
        found[:, j] = (taken / (taken.sum() + none[j] * (reached[j] @ after)))[1:]
        after = _stepped((own[:, j] * after)[::-1], step_back)[::-1] + none[j] * after
        after /= after.max()
    mixed: FloatMatrix = np.float32(ordered) * found + np.float32(1.0 - ordered) * confidence
    return mixed


def _forward(
    own: NDArray[np.float64], none: NDArray[np.float64], step_back: float
) -> tuple[list[NDArray[np.float64]], float]:
    """Forward pass: the mass at each sentence before every image, scaled to sum 1, and the log of the total mass."""
    reached, total = [], 0.0
    before = np.zeros(len(own))
    before[0] = 1.0
    for j in range(own.shape[1]):
        reached.append(before)
        before = own[:, j] * _stepped(before, step_back) + none[j] * before
        total += float(np.log(before.sum()))
        before = before / before.sum()
    return reached, total


def _stepped(mass: NDArray[np.float64], step_back: float) -> NDArray[np.float64]:
    """(S,) the mass at and before each place, plus ``step_back`` times the mass behind it."""
    until: NDArray[np.float64] = np.cumsum(mass)
    until += step_back * (until[-1] - until)
    return until


def threshold(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """Every cell of at least ``min_confidence``; ``k`` is not used."""
    return confidence >= min_confidence


SELECTIONS: Mapping[Selection, Callable[..., NDArray[np.bool_]]] = {
    "top-k": top_k,
    "best": best,
    "order": best,  # applied to the confidences from ``in_order``
    "assignment": assignment,
    "threshold": threshold,
}
"""Every selection by its name."""


def selection(name: str) -> Callable[..., NDArray[np.bool_]]:
    """The selection of this name; ``SettingError`` if it is unknown."""
    for known, function in SELECTIONS.items():
        if known == name:
            return function
    raise SettingError(f"no selection {name!r}; there are {', '.join(SELECTIONS)}")
