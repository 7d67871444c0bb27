"""How much of the AUC is explained by a document's spread, and whether it is less for another model (Li 2021).

Spread and regression (the first one, by image and text spread) are those of ``papers.analyses.difficulty``. With
several seeds, R² is the mean over seeds: an AUC averaged over seeds has less random variation, and so a larger R².
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError, ShapeError
from iconotext.evaluate.intervals import RESAMPLINGS, Interval, as_interval, interval_ends
from iconotext.papers.analyses.seeds import drawn_anew

FEWEST = 5
"""Smallest number of documents: features, constant, and some more."""


@dataclass(frozen=True, slots=True)
class Explained:
    """R² of the regression of the AUC on image and text spread.

    Attributes:
        before: Of the first model, 0 to 1.
        before_interval: 95 % interval over resampled documents and seeds.
        after_interval: Likewise.
        interval: Of the difference, with the same resamplings for both models.
    """

    before: float
    after: float
    before_interval: Interval
    after_interval: Interval
    difference: float
    interval: Interval
    documents: int
    seeds: int


def explained_by_spread(
    before: Mapping[int, Sequence[float]],
    after: Mapping[int, Sequence[float]],
    spreads: Sequence[tuple[float, float]],
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> Explained:
    """Compare how much of two models' AUC is explained by spread.

    Args:
        before: Seed to the AUC of each document.
        after: The same for the other model, documents in the same order; only common seeds are used.
        spreads: Image and text spread of each document.

    Raises:
        ShapeError: The numbers of documents differ.
        CorpusError: There are too few documents, or no seed in common.
    """
    features = np.asarray(spreads, np.float64).reshape(-1, 2)
    common = [each for each in before if each in after]
    if not common:
        raise CorpusError("the two models have no seed in common, so there is nothing to compare")
    sides = [np.array([side[each] for each in common], np.float64) for side in (before, after)]
    if any(side.shape != (len(common), len(features)) for side in sides):
        raise ShapeError(f"AUCs {sides[0].shape} and {sides[1].shape} for {len(features)} documents")
    if len(features) < FEWEST:
        raise CorpusError(f"{len(features)} documents are too few to explain their AUC: take at least {FEWEST}")

    def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([[r2(each, features, counts) for each in side] for side in sides]).transpose(1, 2, 0)

    one, other = shares(np.ones((1, len(features))))[:, 0].mean(axis=0).tolist()
    first, second = drawn_anew(shares, *sides[0].shape, resamplings=resamplings, seed=seed).T
    before_, after_, gain = (as_interval(interval_ends(each)) for each in (first, second, second - first))
    return Explained(one, other, before_, after_, other - one, gain, len(features), len(common))


def r2(target: NDArray[np.float64], features: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(draws,) R², 0 to 1, of regressions of a target on features and a constant; 0 if the target is constant.

    Args:
        target: (documents,).
        features: (documents, features).
        counts: (draws, documents) how often each document was drawn.
    """
    # Centred and scaled: products of the raw columns would lose significant digits.
    deviation = features.std(axis=0)
    columns = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    design = np.column_stack([np.ones(len(columns)), columns])
    centred = target - target.mean()
    width = design.shape[1]
    products = (counts @ (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)).reshape(-1, width, width)
    moments = counts @ (design * centred[:, None])
    drawn = counts.sum(axis=1)
    total = counts @ centred**2 - moments[:, 0] ** 2 / drawn
    # A pseudo-inverse, since a feature may be constant in a resampling.
    weights = np.einsum("rij,rj->ri", np.linalg.pinv(products, rcond=1e-10, hermitian=True), moments)
    explained = np.einsum("ri,ri->r", weights, moments) - moments[:, 0] ** 2 / drawn
    varies = total > 1e-12 * np.maximum(counts @ target**2, 1e-300)
    shares: NDArray[np.float64] = np.where(varies, explained / np.where(varies, total, 1), 0.0)
    return np.clip(shares, 0.0, 1.0)
