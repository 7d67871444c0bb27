"""Paired differences of retrieval: what another model, or a refinement, changes on the same queries and pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iconotext.evaluate.intervals import RESAMPLINGS, interval_ends, resampled_counts
from iconotext.evaluate.retrieval import Draw, Ranks
from iconotext.papers.analyses.seeds import resampled_seeds

PLAIN = "retrieval"
"""Name of the ranks without refinement."""

METRICS = ("median_rank", "r@1", "r@10")

Scores = Mapping[str, Mapping[int, dict[str, Any]]]
"""Name of the row to seed to what ``score_retrieval`` found."""


def ranks_for_json(draws: Sequence[Draw]) -> list[dict[str, list[int]]]:
    """The ranks of every query in every pool, as a file of results keeps them."""
    return [
        {"queries": draw.queries.tolist(), "above": draw.ranks.above.tolist(), "tied": draw.ranks.tied.tolist()}
        for draw in draws
    ]


def differences_to(scores: Scores, reference: str) -> dict[str, dict[str, Any]]:
    """Median rank, R@1 and R@10 of each row minus those of another, and of each refinement minus those without it.

    Pairs are drawn anew with replacement, the same for both sides and in all pools, and so are the seeds; of every draw
    the median rank is that of its queries, as many times as each was drawn.

    Returns:
        Name to ``to``, the number of ``seeds``, and for each metric ``difference`` and 95 % ``interval``; with them,
        for a row with refinements, ``refined``: their names to the same metrics. Rows that were not measured on the
        same queries as the other one have no differences to it.
    """

    @cache
    def figures(name: str, seed: int, kind: str) -> NDArray[np.float64]:
        found = scores[name][seed]
        return resampled_figures(found["ranks"][kind], found["pairs"])

    def compared(mine: tuple[str, str], theirs: tuple[str, str], seeds: Sequence[int]) -> dict[str, Any]:
        by_seed = np.array([figures(mine[0], s, mine[1]) - figures(theirs[0], s, theirs[1]) for s in seeds])
        return _intervals(by_seed)

    found: dict[str, dict[str, Any]] = {}
    theirs = scores.get(reference, {})
    for name, mine in scores.items():
        seeds = [seed for seed in mine if seed in theirs and _same_queries(mine[seed], theirs[seed])]
        if name != reference and seeds:
            found[name] = {"to": reference, "seeds": len(seeds)} | compared((name, PLAIN), (reference, PLAIN), seeds)
        kinds = [kind for kind in next(iter(mine.values()))["ranks"] if kind != PLAIN]
        if kinds:
            refined = {kind: compared((name, kind), (name, PLAIN), list(mine)) for kind in kinds}
            found[name] = found.get(name, {}) | {"refined": refined}
    return found


def resampled_figures(
    draws: Sequence[Mapping[str, Sequence[int]]], pairs: int, *, resamplings: int = RESAMPLINGS
) -> NDArray[np.float64]:
    """Median rank, R@1 and R@10, each a mean over the pools, as they are and for pairs drawn anew.

    Args:
        pairs: How many there are in all; equal numbers are drawn alike.

    Returns:
        (1 + resamplings, 3); the first row is as it is. A pool of which no query was drawn counts as nothing.
    """
    parts = [np.ones((1, pairs)), *resampled_counts(pairs, resamplings, 0)]
    return np.concatenate([_figures(draws, counts) for counts in parts])


def _figures(draws: Sequence[Mapping[str, Sequence[int]]], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(resamplings, 3) figures; ``counts``: (resamplings, pairs), how often each pair was drawn."""
    sums, pools = np.zeros((len(counts), len(METRICS))), np.zeros((len(counts), 1))
    for draw in draws:
        ranks = Ranks(np.array(draw["above"]), np.array(draw["tied"]))
        own = counts[:, np.array(draw["queries"])]
        total = own.sum(axis=1)
        there = total > 0
        columns = [own @ ranks.recall(k) / np.maximum(total, 1) for k in (1, 10)]
        figures = np.stack([weighted_medians(ranks.mean, own), *columns], axis=1)
        sums += np.where(there[:, None], figures, 0)
        pools += there[:, None]
    return sums / np.maximum(pools, 1)


def weighted_medians(values: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of values that occur several times.

    Args:
        values: (Q,).
        counts: (resamplings, Q) whole numbers.

    Returns:
        (resamplings,), as ``np.median`` of the repeated values; of a row of zeros no particular number.
    """
    order = np.argsort(values, kind="stable")
    reached = counts[:, order].cumsum(axis=1)
    half = reached[:, -1:] / 2
    middle = (values[order][np.argmax(reached >= half, axis=1)], values[order][np.argmax(reached > half, axis=1)])
    return np.asarray((middle[0] + middle[1]) / 2, np.float64)


def _intervals(by_seed: NDArray[np.float64]) -> dict[str, Any]:
    """Metric to difference and interval, from (seeds, 1 + resamplings, 3) differences."""
    shares = resampled_seeds(len(by_seed), by_seed.shape[1] - 1, 0)
    drawn = np.einsum("rs,srm->rm", shares, by_seed[:, 1:])
    found = zip(METRICS, by_seed[:, 0].mean(axis=0), interval_ends(drawn), strict=True)
    return {metric: {"difference": float(mean), "interval": ends.tolist()} for metric, mean, ends in found}


def _same_queries(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether two models were measured on the same pairs, in the same pools."""
    queries = ([draw["queries"] for draw in each["ranks"][PLAIN]] for each in (mine, theirs))
    return mine["pairs"] == theirs["pairs"] and next(queries) == next(queries)
