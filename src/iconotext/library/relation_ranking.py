"""How a wanted relation changes the order of search results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


WEIGHT = 0.5
"""What a relation may move: so many standard deviations of the similarities for a probability e times as high."""

SPREAD_OF = 100
"""The nearest pictures whose similarities tell how far apart similarities are."""

LEAST = 0.05
"""No probability counts as lower: a picture that fits much better comes first whatever its relation."""


def probabilities(
    query: FloatMatrix | None, offsets: FloatMatrix | None, own: Sequence[float] | None
) -> FloatMatrix | None:
    """How probably each relation holds between a query and a picture.

    Two witnesses are asked: the relation model about the query and the picture, and the same model about the picture
    and the text that stands with it in a document, which tells what its author used it for. Their log-odds are
    averaged. Where one has nothing to say (a query that is a picture, a picture without a text), the other one
    counts alone.

    Args:
        query: (R,) log-odds from the query; None for a query without words.
        offsets: (R,) what the picture adds to them; None where the library knows nothing of it.
        own: (R,) log-odds between the picture and its own text; None without one.

    Returns:
        (R,) probabilities; None where there is no witness.
    """
    witnesses = []
    if query is not None and offsets is not None:
        witnesses.append(query + offsets)
    if own is not None:
        witnesses.append(np.asarray(own, np.float32))
    if not witnesses:
        return None
    odds = np.clip(np.mean(witnesses, axis=0, dtype=np.float64), -60, 60)
    return np.asarray(1 / (1 + np.exp(-odds)), np.float32)


def refined(similarities: FloatMatrix, wanted: FloatMatrix) -> FloatMatrix:
    """Similarities, lowered by how improbable the wanted relation is.

    A picture should fit, and stand in the relation: its similarity says how probably it is the picture that is meant,
    the relation model how probably it stands in the relation, and the logarithm of the product of both is
    ``similarity / τ + log P``. In units of similarity that is ``similarity + τ log P``, with τ = ``WEIGHT`` standard
    deviations of the similarities among the nearest pictures, because models differ in how far apart these are. P
    below ``LEAST`` counts as ``LEAST``: nothing falls by more than 1.5 standard deviations, so among pictures that
    fit, the relation decides, and one that fits far better than another stays ahead of it.

    Args:
        similarities: (N,) cosines, best first.
        wanted: (N,) probabilities of the wanted relation.

    Returns:
        (N,) scores; none is above the similarity, and it is the same for P = 1.
    """
    return np.asarray(similarities + relation_scale(similarities) * np.log(np.maximum(wanted, LEAST)), np.float32)


def relation_scale(similarities: FloatMatrix) -> float:
    """τ: what a probability e times as high is worth, in similarity."""
    nearest = np.asarray(similarities[:SPREAD_OF], np.float64)
    return WEIGHT * float(nearest.std()) if len(nearest) else 0.0
