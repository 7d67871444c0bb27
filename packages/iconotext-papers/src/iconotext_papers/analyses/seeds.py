"""Several training runs that differ only in their seed: mean, spread, and paired differences.

``over_seeds`` averages runs, ``differences`` compares two models with the same seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.evaluate.results import Evaluation, matched, totals_and_weights
from iconotext.evaluate.statistics import (
    RESAMPLINGS,
    Groups,
    Interval,
    as_interval,
    bootstrap_intervals,
    grouped,
    interval_ends,
    resampled_counts,
)

_SEEDS_STREAM = 1
"""Seeds are drawn from another random stream than documents."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two models, trained with the same seeds, in one metric.

    Attributes:
        difference: Difference of the means over documents and seeds, -1 to 1.
        interval: 95 % interval over resampled documents and seeds.
        interval_documents: Interval over resampled documents only, each with its mean over the seeds.
        same_sign: Number of seeds whose difference has the sign of the total; 0 if that is 0.
    """

    difference: float
    interval: Interval
    interval_documents: Interval
    seeds: int
    same_sign: int


def over_seeds(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Average each document's metrics over the seeds: one or more evaluations of the same documents.

    The documents are in the order of the first evaluation.
    """
    if len(evaluations) == 1 or not evaluations[0].defined:
        return evaluations[0]
    aligned = _aligned(evaluations)
    means = iter(np.mean([totals_and_weights(evaluation)[0] for evaluation in aligned], axis=0).tolist())
    documents = []
    for document in evaluations[0].documents:
        if document.undefined is None:
            totals = zip(document.figures, next(means), strict=True)
            figures = {metric: (total, document.figures[metric][1]) for metric, total in totals}
            document = replace(document, figures=figures)
        documents.append(document)
    return replace(evaluations[0], documents=tuple(documents))


def spread_over_seeds(evaluations: Sequence[Evaluation]) -> dict[str, float | None]:
    """Return the sample standard deviation of each metric over the seeds; None for a single seed."""
    if len(evaluations) < 2:
        return dict.fromkeys(LINK_METRICS)
    values = {metric: [evaluation.means[metric] for evaluation in evaluations] for metric in LINK_METRICS}
    return {
        metric: None if None in column else float(np.std(np.array(column, np.float64), ddof=1))
        for metric, column in values.items()
    }


def differences(
    first: Mapping[int, Evaluation], second: Mapping[int, Evaluation], *, resamplings: int = RESAMPLINGS, seed: int = 0
) -> dict[str, Difference]:
    """Compare two models, document by document and seed by seed: metric to difference, as in ``LINK_METRICS``.

    The interval covers two sources of variation: other documents of the same kind, and other seeds. Each resampling
    draws both with replacement, the same ones for both models, and computes the difference. With few seeds such an
    interval is still too narrow: with three, the resampled variance is two thirds of the variance of seeds.
    """
    common = [number for number in first if number in second]
    if not common:
        raise CorpusError("the two models have no seed in common, so there is nothing to compare")
    aligned = _aligned([evaluations[number] for evaluations in (first, second) for number in common])
    totals = np.array([totals_and_weights(evaluation)[0] for evaluation in aligned])
    weights = totals_and_weights(aligned[0])[1]
    by_seed = totals[: len(common)] - totals[len(common) :]  # (seeds, documents, metrics)
    mean = by_seed.mean(axis=0)
    groups = grouped([document.contents for document in aligned[0]])
    ends = only_documents = bootstrap_intervals(mean, weights, groups, lowest=-1, resamplings=resamplings, seed=seed)
    if len(common) > 1:

        def figures(counts: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.stack([counts @ values for values in by_seed]) / (counts @ weights)

        ends = interval_ends(drawn_anew(figures, len(common), groups, resamplings=resamplings, seed=seed))
    overall, per_seed = (_without_noise(values.sum(axis=-2) / weights.sum(axis=0)) for values in (mean, by_seed))
    signs = np.sign(per_seed) == np.sign(overall)
    return {
        metric: Difference(
            float(overall[i]),
            as_interval(ends[i]),
            as_interval(only_documents[i]),
            len(common),
            int(signs[:, i].sum()) if overall[i] else 0,
        )
        for i, metric in enumerate(LINK_METRICS)
    }


def resampled_seeds(seeds: int, resamplings: int, seed: int) -> NDArray[np.float64]:
    """Return (resamplings, seeds) shares of each seed in resamplings with replacement; each row sums to 1."""
    random = np.random.default_rng([seed, _SEEDS_STREAM])
    return random.multinomial(seeds, np.full(seeds, 1 / seeds), resamplings) / seeds


def drawn_anew(
    figures: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    seeds: int,
    groups: Groups,
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> NDArray[np.float64]:
    """(resamplings, ...) figures for resampled documents and seeds: the mean over the drawn seeds.

    Args:
        figures: From (draws, documents), how often each document is drawn, to (seeds, draws, ...).
        groups: The documents that are drawn together.
    """
    shares, parts, start = resampled_seeds(seeds, resamplings, seed), [], 0
    for counts in resampled_counts(groups, resamplings, seed):
        parts.append(np.einsum("rs,sr...->r...", shares[start : start + len(counts)], figures(counts)))
        start += len(counts)
    return np.concatenate(parts)


def _without_noise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set values to 0 whose difference from 0 is only rounding."""
    return np.where(np.abs(values) < 1e-12, 0.0, values)


def _aligned(evaluations: Sequence[Evaluation]) -> list[Any]:
    """Return the documents with a defined AUC of each evaluation, in the order of the first."""
    first = matched(evaluations[0], evaluations[0])[0]  # with itself: only its documents that have an AUC
    return [first, *(matched(evaluations[0], evaluation)[1] for evaluation in evaluations[1:])]
