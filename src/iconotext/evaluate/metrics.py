"""Metrics of one document: how well a matrix of scores agrees with the author's links.

``METRICS`` at the end lists all metrics, also those of retrieval, which another module computes. A metric of links is
one row of it: results files, means, intervals and comparisons are made from the row.

AUC and p@C are those of Hessel 2019, section 2; image@1 is ours. Ties do not depend on the order of sentences or
images: AUC counts a tie half, the others take the mean over all orders. So a matrix of equal scores has the AUC 0.5
and, for the other metrics, the share of cells that are gold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import ShapeError
from iconotext.evaluate.statistics import RESAMPLINGS, as_interval, grouped, interval_ends, resampled_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Mask = NDArray[np.bool_]
    OfDocument = Callable[[Floats, Mask], tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric that ``iconotext evaluate`` reports.

    Attributes:
        name: Key in JSON and in files of results.
        label: Heading of its column.
        measures: The evaluation that reports it: links, retrieval or relations.
        values: Range, and the value of a model that knows nothing.
        function: Module and name of the function, or class, that computes it.
        summary: One sentence.
        of_document: For metrics of links: from a document's scores and gold links, (sentences, images) each, to a total
            and a weight. The metric of a corpus is the sum of its documents' totals over the sum of their weights.
        columns: Columns of the total and of the weight in files of results; of a weight that is always 1 there is none.
    """

    name: str
    label: str
    measures: str
    values: str
    function: str
    summary: str
    of_document: OfDocument | None = None
    columns: tuple[str, ...] = ()


def gold_matrix(shape: tuple[int, int], links: Iterable[tuple[int, int]]) -> Mask:
    """The links as a matrix.

    Args:
        links: (sentence, image) pairs; repetitions are ignored.

    Returns:
        (sentences, images) bool.
    """
    gold = np.zeros(shape, np.bool_)
    for sentence, image in links:
        if not (0 <= sentence < shape[0] and 0 <= image < shape[1]):
            raise ShapeError(f"link ({sentence}, {image}) does not fit {shape[0]} sentences and {shape[1]} images")
        gold[sentence, image] = True
    return gold


def checked_scores(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Check that the scores are a matrix without NaN, and return them."""
    matrix = np.asarray(scores)
    if matrix.ndim != 2:
        raise ShapeError(f"scores must be (sentences, images), got {matrix.shape}")
    if np.isnan(matrix).any():
        sentence, image = np.argwhere(np.isnan(matrix))[0]
        raise ShapeError(f"the score of sentence {sentence} and image {image} is not a number")
    return matrix


def auc(scores: NDArray[np.floating], gold: Mask) -> float | None:
    """Area under the ROC curve: how often a gold cell has a higher score than a cell that is not gold; 0.5 by chance.

    None if undefined: no cell is gold, or all are.
    """
    positive, negative = scores[gold], np.sort(scores[~gold])
    if not positive.size or not negative.size:
        return None
    below = np.searchsorted(negative, positive, side="left").sum()
    not_above = np.searchsorted(negative, positive, side="right").sum()
    return float(below + not_above) / (2 * positive.size * negative.size)


def precision_at(scores: NDArray[np.floating], gold: Mask, count: int) -> float:
    """Share of the ``count`` cells with the highest scores that are gold (p@C).

    Args:
        scores: Any shape with at least one cell, no NaN.
        count: C, at least 1; if there are fewer cells, all are taken.

    Returns:
        0 to 1; with ties at the cut, the mean over all orders.
    """
    flat, true = scores.ravel(), gold.ravel()
    count = min(count, flat.size)
    cut = np.partition(flat, flat.size - count)[flat.size - count]  # cells of this score share the last places
    above, tied = flat > cut, flat == cut
    left = count - int(above.sum())
    return float(true[above].sum() + left * true[tied].sum() / tied.sum()) / count


def image_hits(scores: NDArray[np.floating], gold: Mask) -> tuple[float, int]:
    """The number of images with gold links whose best sentence is gold.

    Args:
        scores: (sentences, images), no NaN.

    Returns:
        The number of such images (if several sentences share the highest score, the share of gold ones counts), and the
        number of images with gold links.
    """
    linked = gold.any(axis=0)
    if not linked.any():
        return 0.0, 0
    scores, gold = scores[:, linked], gold[:, linked]
    best = scores == scores.max(axis=0, keepdims=True)
    hits = (best & gold).sum(axis=0) / best.sum(axis=0)
    return float(hits.sum()), int(linked.sum())


@dataclass(frozen=True, slots=True)
class RelationPrecision:
    """How well one relation is predicted.

    Attributes:
        average_precision: 0 to 1; None if no pair with an answer has the relation.
        interval: 95 % bootstrap interval over the pairs' images; None if there is no average precision.
        positive_rate: Share of the pairs with the relation, the value for random scores; None without answers.
        pairs: Number of pairs with an answer.
        unanswered: Number of pairs without an answer, which are left out.
    """

    relation: str
    average_precision: float | None
    interval: tuple[float, float] | None
    positive_rate: float | None
    pairs: int
    unanswered: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {name: value for name, value in asdict(self).items() if name != "relation"}


def average_precision(scores: Floats, gold: Mask) -> float | None:
    """Mean of the precisions at each step of the recall, ``Σ (R_i − R_{i−1}) P_i`` from the highest score down.

    Args:
        scores: (n,), no NaN.
        gold: (n,) bool, whether each is positive.

    Returns:
        0 to 1; None if there are no positives.
    """
    order, ends = _steps(scores, gold)
    return float(_resampled(np.ones((1, len(gold))), gold[order], ends)[0]) if gold.any() else None


def average_precision_interval(
    scores: Floats, gold: Mask, image_of: NDArray[np.intp], *, resamplings: int = RESAMPLINGS, seed: int = 0
) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval of the average precision over pairs, those of an image together.

    Args:
        scores: (n,), no NaN.
        gold: (n,) bool.
        image_of: (n,) number of each pair's image, from 0.

    Returns:
        Low and high; None if there are no positives.
    """
    order, ends = _steps(scores, gold)
    positive = gold[order]
    if not positive.any():
        return None
    groups = grouped([(image + 1,) for image in image_of.tolist()])
    drawn = [_resampled(counts[:, order], positive, ends) for counts in resampled_counts(groups, resamplings, seed)]
    values = np.concatenate(drawn)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    return as_interval(interval_ends(values))


def relation_precisions(
    probabilities: Floats,
    labels: Floats,
    relations: Sequence[str],
    image_of: NDArray[np.intp],
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> tuple[RelationPrecision, ...]:
    """Average precision of each relation.

    Args:
        probabilities: (P, R) of P pairs of a text and its own image, or other scores.
        labels: (P, R): 1 if the pair has the relation, 0 if not, NaN without an answer.
        image_of: (P,) number of each pair's image.
    """
    probabilities, labels = np.asarray(probabilities), np.asarray(labels, np.float64)
    if not (probabilities.shape == labels.shape == (len(labels), len(relations))):
        raise ShapeError(
            f"probabilities {probabilities.shape} and labels {labels.shape} must both be (pairs, {len(relations)})"
        )
    if not (np.isnan(labels) | (labels == 0) | (labels == 1)).all():
        raise ShapeError("labels must be 0, 1 or NaN")
    precisions = []
    for column, name in enumerate(relations):
        answered = ~np.isnan(labels[:, column])
        scores, gold = probabilities[answered, column], labels[answered, column] == 1
        precisions.append(
            RelationPrecision(
                name,
                average_precision(scores, gold),
                average_precision_interval(scores, gold, image_of[answered], resamplings=resamplings, seed=seed),
                float(gold.mean()) if len(gold) else None,
                pairs=len(gold),
                unanswered=int((~answered).sum()),
            )
        )
    return tuple(precisions)


def _steps(scores: Floats, gold: Mask) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the order by descending score, and the last position in it of each different score."""
    scores, gold = np.asarray(scores), np.asarray(gold)
    if scores.ndim != 1 or scores.shape != gold.shape:
        raise ShapeError(f"scores {scores.shape} and gold {gold.shape} must be the same (n,)")
    if np.isnan(scores).any():
        raise ShapeError(f"the score {int(np.argmax(np.isnan(scores)))} is not a number")
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.append(ordered[1:] != ordered[:-1], True) if len(ordered) else np.zeros(0, np.bool_)
    return order, np.flatnonzero(last)


def _resampled(counts: NDArray[np.float64], positive: Mask, ends: NDArray[np.intp]) -> NDArray[np.float64]:
    """Average precision of each resampling, NaN without positives.

    Args:
        counts: (resamplings, n), how often each pair is drawn, in the order of the scores.
        positive: (n,) in the same order.
    """
    hits = np.cumsum(counts * positive, axis=1)[:, ends]
    drawn = np.cumsum(counts, axis=1)[:, ends]
    steps = np.diff(hits, axis=1, prepend=0)
    totals = hits[:, -1]
    sums = (steps * hits / np.maximum(drawn, 1)).sum(axis=1)  # where nothing was drawn, there is no step
    return np.where(totals > 0, sums / np.maximum(totals, 1), np.nan)


def _mean(metric: Callable[[Floats, Mask], float | None]) -> OfDocument:
    """Return the total and the weight of a metric in which every document counts the same."""

    def of_document(scores: Floats, gold: Mask) -> tuple[float, int]:
        value = metric(scores, gold)
        assert value is not None  # documents for which AUC is undefined have no metrics
        return value, 1

    return of_document


_RETRIEVAL = "iconotext.evaluate.retrieval:Ranks"

METRICS = {metric.name: metric for metric in (
    Metric("auc", "AUC", "links", "0 to 1; by chance 0.5", f"{__name__}:auc",
           "How often a gold pair scores higher than another pair of its document; mean over documents.",
           _mean(auc), ("auc",)),
    Metric("p@1", "p@1", "links", "0 to 1; by chance the share of gold pairs", f"{__name__}:precision_at",
           "Share of documents whose pair with the highest score is gold.",
           _mean(partial(precision_at, count=1)), ("p@1",)),
    Metric("p@5", "p@5", "links", "0 to 1; by chance the share of gold pairs", f"{__name__}:precision_at",
           "Share of gold pairs among the five with the highest scores; mean over documents.",
           _mean(partial(precision_at, count=5)), ("p@5",)),
    Metric("image@1", "image@1", "links", "0 to 1; by chance the share of gold pairs", f"{__name__}:image_hits",
           "Share of the images with gold links whose best sentence is a gold one; over all images.",
           image_hits, ("image_hits", "linked_images")),
    Metric("median_rank", "Median rank", "retrieval", "1 to N; by chance (N + 1) / 2", _RETRIEVAL,
           "Place of a text's own picture in a pool of N, for the median text; mean over the pools."),
    Metric("mean_rank", "Mean rank", "retrieval", "1 to N; by chance (N + 1) / 2", _RETRIEVAL,
           "Mean place of a text's own picture in a pool of N; mean over the pools."),
    Metric("r@1", "R@1", "retrieval", "0 to 1; by chance 1 / N", _RETRIEVAL,
           "Share of the texts whose own picture comes first in a pool of N."),
    Metric("r@5", "R@5", "retrieval", "0 to 1; by chance 5 / N", _RETRIEVAL,
           "Share of the texts whose own picture is among the first 5 of N."),
    Metric("r@10", "R@10", "retrieval", "0 to 1; by chance 10 / N", _RETRIEVAL,
           "Share of the texts whose own picture is among the first 10 of N."),
    Metric("average_precision", "Average precision", "relations", "0 to 1; by chance the share of pairs that have it",
           f"{__name__}:average_precision", "Mean precision of a predicted relation over all recalls."),
)}  # fmt: skip

LINK_METRICS = {name: metric for name, metric in METRICS.items() if metric.measures == "links"}
