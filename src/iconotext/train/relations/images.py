"""What an image adds to the relations: learned from labels, or from what people wrote about images without labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.embed.relation_model import LIMIT
from iconotext.evaluate.average_precision import average_precision
from iconotext.train.relations.logistic import fit_standardised, standard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from iconotext.recipe.relation_recipe import RelationSettings
    from iconotext.types import FloatMatrix

HELD_OUT = 5
"""One image in so many is held out for the correlation that is reported."""


class ImageOffsets(NamedTuple):
    """What an image adds to the log-odds, linear in its pooled features.

    Attributes:
        weight: (P, R) on pooled features as they are.
        bias: (R,)
        figures: By the name of a figure its value for each of the R relations. ``kept`` says whether a relation has an
            offset; the others are of images that had no say in it: ``correlation``, or ``held_out`` with the average
            precision of the text alone and with the image.
    """

    weight: FloatMatrix
    bias: NDArray[np.float32]
    figures: dict[str, list[Any]]


def from_labels(
    pooled: FloatMatrix, answers: FloatMatrix, text: FloatMatrix, parts: NDArray[np.int64], strength: float
) -> ImageOffsets:
    """Offsets that, added to the text's log-odds, fit the labels: one logistic regression a relation.

    Each part is also judged with offsets that were learned from the other parts. A relation whose average precision is
    lower with these offsets than without, or is not known, gets no offset.

    Args:
        pooled: (n, P) features of labelled images.
        answers: (n, R) 1, 0 or NaN.
        text: (n, R) calibrated log-odds of their texts, from a model that has not seen them.
        parts: (n,) which part each is in; what shares a text or an image is in one.
        strength: How free the weights are.
    """
    both = text.copy()
    for own in (parts == part for part in np.unique(parts)):
        if not own.all():
            weight, bias = fit_standardised(pooled[~own], answers[~own], strength, known=text[~own])
            both[own] += np.clip(pooled[own] @ weight + bias, -LIMIT, LIMIT)
    held_out = [_held_out(answers[:, r], text[:, r], both[:, r]) for r in range(answers.shape[1])]
    kept = [None not in each.values() and each["text_and_image"] >= each["text"] for each in held_out]
    weight, bias = fit_standardised(pooled, answers, strength, known=text)
    used = np.array(kept, np.float32)
    return ImageOffsets(weight * used, bias * used, {"kept": kept, "held_out": held_out})


def _held_out(answers: FloatMatrix, text: FloatMatrix, both: FloatMatrix) -> dict[str, Any]:
    there = ~np.isnan(answers)
    gold = answers[there] > 0.5
    precisions = {"text": text, "text_and_image": both}
    return {"pairs": len(gold), **{name: average_precision(x[there], gold) for name, x in precisions.items()}}


def from_texts(
    pooled: FloatMatrix,
    texts: Sequence[FloatMatrix],
    sources: NDArray[np.int64],
    relations: Sequence[str],
    settings: RelationSettings,
) -> ImageOffsets:
    """Offsets that foretell what the text model says of the texts people write about such an image.

    The target of an image is the mean log-odds of its n texts, less the mean over all images of its corpus (so that
    what tells corpora apart is not learned), times n / (n + 1): one text says little of what others would say. Ridge
    regression on its features; a relation on which held-out images show too small a correlation, or in
    ``picture_silent``, gets no offset.

    Args:
        pooled: (n, P) features.
        texts: Of each image the (texts, R) calibrated log-odds.
        sources: (n,) number of the corpus of each.
        relations: The R names.
    """
    means = np.stack([each.mean(0) for each in texts])
    for source in np.unique(sources):
        means[sources == source] -= means[sources == source].mean(0)
    targets = means * np.array([[len(each) / (len(each) + 1)] for each in texts], np.float32)
    held = np.random.default_rng(settings.seed).permutation(len(pooled)) % HELD_OUT == 0
    weight, bias = _ridge(pooled[~held], targets[~held], settings.picture_strength)
    correlation = _correlation(pooled[held] @ weight + bias, means[held])
    kept = [
        found >= settings.picture_correlation and name not in settings.picture_silent
        for found, name in zip(correlation, relations, strict=True)
    ]
    weight, bias = _ridge(pooled, targets, settings.picture_strength)
    share = np.array(kept, np.float32) * np.float32(settings.picture_weight)
    return ImageOffsets(weight * share, bias * share, {"correlation": correlation, "kept": kept})


def _ridge(pooled: FloatMatrix, y: FloatMatrix, strength: float) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """(P, R) weights and (R,) biases for features as they are; the penalty is on features of standard deviation 1."""
    mean, scale = standard(pooled)
    x = ((pooled - mean) / scale).astype(np.float64)
    found = np.linalg.solve(x.T @ x + np.eye(x.shape[1]) / strength, x.T @ (y - y.mean(0)))
    weight = (found / scale[:, None]).astype(np.float32)
    return weight, y.mean(0) - mean @ weight


def _correlation(x: FloatMatrix, y: FloatMatrix) -> list[float]:
    """Pearson's, of each column of both; 0 for one that is constant."""
    x, y = x - x.mean(0), y - y.mean(0)
    spread = np.sqrt(np.square(x).sum(0) * np.square(y).sum(0))
    found: list[float] = np.where(spread > 0, (x * y).sum(0) / np.where(spread > 0, spread, 1), 0).tolist()
    return found
