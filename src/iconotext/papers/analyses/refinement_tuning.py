"""λ and T of the selective similarity refinement, chosen on validation pairs (Alikhani 2021).

Every λ is tried with every T on the same pools. The lowest median rank wins, then the lowest mean rank, then the
smaller T, then the smaller λ. No refinement (T = 0) is among what can win: where it does not help, it stays off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import SettingError
from iconotext.evaluate.retrieval import DRAWS, POOL, Draw, Retrieval, rank_pools, retrieval
from iconotext.evaluate.retrieval_scores import pair_probabilities
from iconotext.evaluate.retrieval_scores import similarities as similarities_of
from iconotext.library.refinement import Refinement, refine, top_difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.coherence import Coherence
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Score
    from iconotext.papers.analyses.settings import RefinementSettings

STRENGTHS = (0.02, 0.05, 0.08, 0.1, 0.12, 0.13, 0.15, 0.2, 0.3, 0.5, 1.0)
"""λ that are tried; the paper settled on 0.12 and 0.13."""

THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 2.0)
"""T that are tried; the paper settled on 0.1. Cosines never differ by more than 2, so the last refines all queries but
those of opposite images."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What one λ and T reach.

    Attributes:
        strength: λ.
        threshold: T; 0: no refinement.
        hard: Share of the queries that are refined, 0 to 1.
    """

    strength: float
    threshold: float
    hard: float
    metrics: Retrieval

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"strength": self.strength, "threshold": self.threshold, "hard": self.hard, **self.metrics.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """All that was tried.

    Attributes:
        settings: The first is without refinement; then by λ and T.
        differences: (Q,) of the queries of all pools, by how much the best image is ahead of the second.
        ranks: (Q,) without refinement, of the right image.
    """

    settings: tuple[Setting, ...]
    best: Setting
    differences: NDArray[np.float64]
    ranks: NDArray[np.float64]
    pool: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "strength": self.best.strength,
            "threshold": self.best.threshold,
            "pool": self.pool,
            "draws": self.best.metrics.draws,
            "settings": [setting.as_dict() for setting in self.settings],
        }


def tune_refinement(
    similarities: Score,
    probabilities: Score,
    image_of: NDArray[np.intp],
    *,
    strengths: Sequence[float] = STRENGTHS,
    thresholds: Sequence[float] = THRESHOLDS,
    pool: int = POOL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Tuning:
    """Try every λ with every T on the same pools.

    Args:
        similarities: Of some queries with some images, by number, (Q, N).
        probabilities: Of relations, of the same, (Q, N, R).
        image_of: (P,) number of each pair's image.
        strengths: λ.
        thresholds: T.

    Raises:
        CorpusError: There are fewer images than a pool has.
        SettingError: A λ or T is negative, or there are none.
        ShapeError: Arrays do not fit, or are not numbers.
    """
    strengths, thresholds = sorted(set(strengths)), sorted(set(thresholds))
    if not strengths or not thresholds or not all(value >= 0 for value in (*strengths, *thresholds)):
        raise SettingError("strengths and thresholds need at least one number each, none below 0")
    ranked = partial(rank_pools, image_of=image_of, pool=pool, draws=draws, seed=seed)
    ahead: list[NDArray[np.float64]] = []

    def watched(queries: NDArray[np.intp], images: NDArray[np.intp]) -> NDArray[np.floating]:
        cosines = similarities(queries, images)
        ahead.append(top_difference(cosines))
        return cosines

    plain = ranked(watched)
    differences = np.concatenate(ahead)
    settings = [_setting(Refinement(0.0, 0.0), differences, plain, plain)]
    for strength in strengths:

        def all_refined(
            queries: NDArray[np.intp], images: NDArray[np.intp], strength: float = strength
        ) -> NDArray[np.floating]:
            relations = probabilities(queries, images)
            return refine(similarities(queries, images), relations, strength=strength, threshold=math.inf)

        refined = ranked(all_refined)
        settings += [_setting(Refinement(strength, each), differences, plain, refined) for each in thresholds]
    ranks = np.concatenate([draw.ranks.mean for draw in plain])
    return Tuning(tuple(settings), min(settings, key=_goodness), differences, ranks, pool)


def tune_pairs(coherence: Coherence, pairs: PairVectors, settings: RefinementSettings) -> Tuning:
    """Try every λ with every T on the pairs of a corpus; see ``tune_refinement``."""
    return tune_refinement(
        similarities_of(pairs),
        pair_probabilities(pairs, coherence),
        pairs.image_of,
        strengths=settings.strengths or STRENGTHS,
        thresholds=settings.thresholds or THRESHOLDS,
        pool=settings.pool,
        draws=settings.draws,
        seed=settings.seed,
    )


def _setting(
    refinement: Refinement, differences: NDArray[np.float64], plain: Sequence[Draw], refined: Sequence[Draw]
) -> Setting:
    """What comes of it where only the queries are refined whose two best images differ by less than T."""
    hard = differences < refinement.threshold
    ends = np.cumsum([len(draw.queries) for draw in plain])[:-1]
    metrics = retrieval(
        [
            Draw(one.queries, other.ranks.where(some, one.ranks))
            for one, other, some in zip(plain, refined, np.split(hard, ends), strict=True)
        ]
    )
    return Setting(*refinement, float(hard.mean()), metrics)


def _goodness(setting: Setting) -> tuple[float, float, float, float]:
    """The smaller the better; figures that differ by rounding are equal."""
    metrics = setting.metrics
    return (round(metrics.median_rank.mean, 9), round(metrics.mean_rank.mean, 9), setting.threshold, setting.strength)
