"""Whether one model is better than another on the same documents, or could be so by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import CorpusError
from iconotext.evaluate.intervals import RESAMPLINGS, Interval, as_interval, bootstrap_intervals
from iconotext.evaluate.results import METRICS, DocumentScores, Evaluation, totals_and_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERMUTATIONS = 10_000

_EXACT = 13
"""For up to this many documents all 2^n swaps are tried; for more, there are more than ``PERMUTATIONS``."""

_RANKED_EXACTLY = 50
"""For up to this many documents the distribution of Wilcoxon's sum of ranks is exact; for more, nearly normal."""

_SIGNS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first model against the second, by one metric.

    Attributes:
        difference: First minus second, -1 to 1.
        interval: Its 95 % bootstrap interval over documents.
        p: Two-sided p value of the paired permutation test.
        p_wilcoxon: Two-sided p value of Wilcoxon's signed-rank test on the documents' differences.
    """

    difference: float
    interval: Interval
    p: float
    p_wilcoxon: float


def compare(
    first: Evaluation, second: Evaluation, *, resamplings: int = RESAMPLINGS, seed: int = 0
) -> dict[str, Comparison]:
    """Compare two models document by document.

    Returns:
        Metric to comparison, in the order of ``METRICS``.

    Raises:
        CorpusError: They are not of the same documents, or no document has a defined AUC.
    """
    one, other = matched(first, second)
    mine, weights = totals_and_weights(one)
    theirs, _ = totals_and_weights(other)
    differences = mine - theirs
    bounds = bootstrap_intervals(differences, weights, resamplings=resamplings, seed=seed)
    return {
        metric: Comparison(
            difference=float(differences[:, i].sum() / weights[:, i].sum()),
            interval=as_interval(bounds[i]),
            p=permutation_p(differences[:, i], seed=seed),
            p_wilcoxon=wilcoxon_p(differences[:, i]),
        )
        for i, metric in enumerate(METRICS)
    }


def matched(first: Evaluation, second: Evaluation) -> tuple[list[DocumentScores], list[DocumentScores]]:
    """The documents with a defined AUC of both, in the order of the first.

    Raises:
        CorpusError: They are not of the same documents, or no document has a defined AUC.
    """
    for evaluation in (first, second):
        seen: set[str] = set()
        for document in evaluation.documents:
            if document.id in seen:
                raise CorpusError(f"document {document.id!r} stands twice in the results of one model")
            seen.add(document.id)
    theirs = {document.id: document for document in second.documents}
    mine = {document.id for document in first.documents}
    missing, extra = [key for key in mine if key not in theirs], [key for key in theirs if key not in mine]
    if missing or extra:
        raise CorpusError(
            f"the models were evaluated on different documents: {len(missing)} only in the first{_some(missing)}, "
            f"{len(extra)} only in the second{_some(extra)}; evaluate both on the same corpus and split"
        )
    for one in first.documents:
        other = theirs[one.id]
        if _facts(one) != _facts(other):
            raise CorpusError(
                f"document {one.id!r} differs between the models: (sentences, images, links) are {_facts(one)} and "
                f"{_facts(other)}; evaluate both on the same version of the corpus"
            )
    if not first.defined:
        raise CorpusError("no document has a defined AUC, so there is nothing to compare")
    return list(first.defined), [theirs[document.id] for document in first.defined]


def permutation_p(differences: NDArray[np.float64], *, permutations: int = PERMUTATIONS, seed: int = 0) -> float:
    """Two-sided p value of the paired permutation test: the two models of a document change places at random.

    Args:
        differences: (documents,), first minus second.
        permutations: Number of random swaps; few documents are done exactly.

    Returns:
        Share of the swaps whose sum is at least as far from 0 as the one seen. Random swaps count the one seen among
        them, so that the value is never 0.
    """
    seen = abs(differences.sum())
    slack = 1e-12 * max(1.0, float(np.abs(differences).sum()))  # sums that differ by rounding are equal
    exact = len(differences) <= _EXACT
    sign_flips = _all_signs(len(differences)) if exact else _random_signs(len(differences), permutations, seed)
    as_far = total = 0
    for signs in sign_flips:
        as_far += int((np.abs(signs @ differences) >= seen - slack).sum())
        total += len(signs)
    return as_far / total if exact else (as_far + 1) / (total + 1)


def wilcoxon_p(differences: NDArray[np.float64]) -> float:
    """Two-sided p value of Wilcoxon's signed-rank test; 1 where no document differs."""
    differences = differences[differences != 0]  # as Wilcoxon has it
    if not len(differences):
        return 1.0
    _, place, ties = np.unique(np.abs(differences), return_inverse=True, return_counts=True)
    twice = (2 * np.cumsum(ties) - ties + 1)[place]  # ranks times two, whole numbers also where several share a mean
    total, seen = int(twice.sum()), int(twice[differences > 0].sum())
    if len(differences) <= _RANKED_EXACTLY:
        ways = np.zeros(total + 1)  # in how many ways signs give each sum
        ways[0] = 1
        for rank in twice:
            ways[rank:] += ways[: total + 1 - rank].copy()
        return float(min(1.0, 2 * ways[: min(seen, total - seen) + 1].sum() / ways.sum()))
    return math.erfc(abs(2 * seen - total) / math.sqrt(2 * float(np.square(twice, dtype=np.float64).sum())))


def _all_signs(documents: int) -> Iterator[NDArray[np.float64]]:
    bits = (np.arange(2**documents)[:, None] >> np.arange(documents)) & 1
    yield np.where(bits, 1.0, -1.0)


def _random_signs(documents: int, permutations: int, seed: int) -> Iterator[NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    rows = max(1, _SIGNS_AT_ONCE // documents)
    for start in range(0, permutations, rows):
        swap = random.integers(0, 2, (min(rows, permutations - start), documents))
        yield np.where(swap, 1.0, -1.0)


def _facts(document: DocumentScores) -> tuple[int, int, int | None]:
    return document.sentences, document.images, document.links


def _some(identifiers: Sequence[str]) -> str:
    if not identifiers:
        return ""
    return f" ({', '.join(sorted(identifiers)[:3])}{', ...' if len(identifiers) > 3 else ''})"
