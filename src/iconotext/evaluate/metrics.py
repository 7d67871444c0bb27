"""Metrics of one document: how well a matrix of scores agrees with the author's links.

AUC and p@C are those of Hessel 2019, section 2; image@1 is ours. Ties do not depend on the order of sentences or
images: AUC counts a tie half, the others take the mean over all orders. So a matrix of equal scores has the AUC 0.5
and, for the other metrics, the share of cells that are gold.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def gold_matrix(shape: tuple[int, int], links: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    """The links as a matrix.

    Args:
        shape: Number of sentences and of images.
        links: (sentence, image) pairs; repetitions are ignored.

    Returns:
        (sentences, images) bool.

    Raises:
        ShapeError: A link is outside the matrix.
    """
    gold = np.zeros(shape, np.bool_)
    for sentence, image in links:
        if not (0 <= sentence < shape[0] and 0 <= image < shape[1]):
            raise ShapeError(f"link ({sentence}, {image}) does not fit {shape[0]} sentences and {shape[1]} images")
        gold[sentence, image] = True
    return gold


def checked_scores(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    """Check that the scores are a matrix without NaN, and return them.

    Raises:
        ShapeError: They are not a matrix, or one is NaN.
    """
    matrix = np.asarray(scores)
    if matrix.ndim != 2:
        raise ShapeError(f"scores must be (sentences, images), got {matrix.shape}")
    if np.isnan(matrix).any():
        sentence, image = np.argwhere(np.isnan(matrix))[0]
        raise ShapeError(f"the score of sentence {sentence} and image {image} is not a number")
    return matrix


def auc(scores: NDArray[np.floating], gold: NDArray[np.bool_]) -> float | None:
    """Area under the ROC curve: how often a gold cell has a higher score than a cell that is not gold.

    Args:
        scores: Any shape, no NaN.
        gold: The same shape.

    Returns:
        0 to 1; 0.5 by chance. None if undefined: no cell is gold, or all are.
    """
    positive, negative = scores[gold], np.sort(scores[~gold])
    if not positive.size or not negative.size:
        return None
    below = np.searchsorted(negative, positive, side="left").sum()
    not_above = np.searchsorted(negative, positive, side="right").sum()
    return float(below + not_above) / (2 * positive.size * negative.size)


def precision_at(scores: NDArray[np.floating], gold: NDArray[np.bool_], count: int) -> float:
    """Share of the ``count`` cells with the highest scores that are gold (p@C).

    Args:
        scores: Any shape with at least one cell, no NaN.
        gold: The same shape.
        count: C, at least 1; if there are fewer cells, all are taken.

    Returns:
        0 to 1; with ties at the cut, the mean over all orders.
    """
    flat, true = scores.ravel(), gold.ravel()
    count = min(count, flat.size)
    cut = np.partition(flat, flat.size - count)[flat.size - count]
    above, tied = flat > cut, flat == cut
    left = count - int(above.sum())
    return float(true[above].sum() + left * true[tied].sum() / tied.sum()) / count


def image_hits(scores: NDArray[np.floating], gold: NDArray[np.bool_]) -> tuple[float, int]:
    """The number of images with gold links whose best sentence is gold.

    Args:
        scores: (sentences, images), no NaN.
        gold: The same shape.

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
