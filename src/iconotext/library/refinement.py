"""The score of a search for a wanted relation: similarity, lowered by how improbable the relation is.

``probabilities`` combines the evidence for each relation, ``refined`` lowers the score of a picture that is unlikely to
have the wanted one. The refinement of Alikhani 2021 is in ``iconotext.encoders.coherence``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

WEIGHT = 0.5
"""The weight of a factor of e in the relation's probability, in standard deviations of the similarities."""

SPREAD_OF = 100
"""Number of nearest pictures from which this standard deviation is computed."""

LEAST = 0.05
"""Lower limit for probabilities, so that a picture that fits much better comes first whatever its relation."""


def probabilities(
    query: FloatMatrix | None, offsets: FloatMatrix | None, own: Sequence[float] | None
) -> FloatMatrix | None:
    """The probability of each relation between a query and a picture.

    There are two sources of log-odds: the relation model applied to query and picture, and the same model applied to
    the picture and the text about it in a document, which shows what its author used it for. The result is from their
    mean, or from the one that exists: a query by picture has no text, and some pictures have none.

    Args:
        query: (R,) log-odds from the query; None for a query without text.
        offsets: (R,) the picture's part of the log-odds; None if not stored.
        own: (R,) log-odds between the picture and its own text; None without one.

    Returns:
        (R,) probabilities; None without any source.
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
    """Lower similarities by how improbable the wanted relation is.

    A result should be similar and have the relation. The similarity measures how probably it is the wanted picture, the
    relation model how probably it has the relation; the logarithm of the product is ``similarity / τ + log P``, or, in
    units of similarity, ``similarity + τ log P``. τ is ``WEIGHT`` standard deviations of the similarities among the
    nearest pictures, since models differ in the spread of their similarities. P is at least ``LEAST``, so no score
    falls by more than 1.5 standard deviations: among similar pictures the relation decides, but a much more similar one
    stays ahead.

    Args:
        similarities: (N,) cosines, best first.
        wanted: (N,) probabilities of the wanted relation.

    Returns:
        (N,) scores, at most the similarities, and equal for P = 1.
    """
    return np.asarray(similarities + relation_scale(similarities) * np.log(np.maximum(wanted, LEAST)), np.float32)


def relation_scale(similarities: FloatMatrix) -> float:
    """τ: the weight of a factor of e in probability, in units of similarity."""
    nearest = np.asarray(similarities[:SPREAD_OF], np.float64)
    return WEIGHT * float(nearest.std()) if len(nearest) else 0.0
