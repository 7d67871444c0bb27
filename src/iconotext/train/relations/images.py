"""What a picture adds to the relations: learned from labels, or from what people wrote about unlabelled pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.embed.relation_model import LIMIT
from iconotext.evaluate.average_precision import average_precision
from iconotext.train.relations.logistic import fit_logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from iconotext.recipe.relations import RelationSettings
    from iconotext.types import FloatMatrix

PENALTIES = (30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0)
"""Of the ridge regression, tried on held-out pictures."""

HELD_OUT = 0.2
"""Share of the pictures that are held out to choose the penalty, and as much again for the correlation told."""

SHRINK = 1.0
"""A picture's mean over n texts counts n / (n + this): one text says little of what others would say."""


class HeldOut(NamedTuple):
    """How well a relation is foretold on labelled pictures that had no say in it.

    Attributes:
        pairs: With an answer.
        text: Average precision of the text alone; None where no answer is yes.
        text_and_image: Of both.
    """

    pairs: int
    text: float | None
    text_and_image: float | None


@dataclass(frozen=True, slots=True, eq=False)
class ImageSide:
    """What was found.

    Attributes:
        weight: (P, R) on pooled features as they are.
        bias: (R,)
        correlation: Per relation, on held-out pictures, between offset and texts; None where labels were used.
        kept: Per relation, whether the offset is used.
        held_out: Per relation, where labels were used; else empty.
    """

    weight: FloatMatrix
    bias: NDArray[np.float32]
    correlation: tuple[float | None, ...]
    kept: tuple[bool, ...]
    held_out: tuple[HeldOut, ...] = ()


def from_labels(
    pooled: FloatMatrix,
    answers: NDArray[np.float32],
    text: FloatMatrix,
    parts: NDArray[np.int64],
    settings: RelationSettings,
) -> ImageSide:
    """Offsets that, added to the text's log-odds, fit the labels: one logistic regression a relation.

    Each part is also judged with offsets that were learned from the other parts. A relation whose average precision is
    lower with these offsets than without, or is not known, gets no offset.

    Args:
        pooled: (n, P) features of labelled pictures.
        answers: (n, R) 1, 0 or NaN.
        text: (n, R) calibrated log-odds of their texts, from a model that has not seen them.
        parts: (n,) which part each is in; what shares a text or a picture is in one.
        settings: ``picture_strength`` says how free the weights are.
    """
    both = text.copy()
    for part in np.unique(parts):
        others, own = parts != part, parts == part
        if others.any():
            weight, bias = _fitted(pooled[others], answers[others], text[others], settings)
            both[own] += np.clip(pooled[own] @ weight + bias, -LIMIT, LIMIT)
    held_out = []
    for r in range(answers.shape[1]):
        there = ~np.isnan(answers[:, r])
        gold = answers[there, r] > 0.5
        precisions = (average_precision(logits[there, r], gold) for logits in (text, both))
        held_out.append(HeldOut(int(there.sum()), *precisions))
    kept = tuple(
        each.text is not None and each.text_and_image is not None and each.text_and_image >= each.text
        for each in held_out
    )
    weight, bias = _fitted(pooled, answers, text, settings)
    used = np.array(kept, np.float32)
    return ImageSide(weight * used, bias * used, (None,) * len(kept), kept, tuple(held_out))


def _fitted(
    pooled: FloatMatrix, answers: NDArray[np.float32], text: FloatMatrix, settings: RelationSettings
) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """(P, R) weights and (R,) biases on pooled features as they are."""
    mean, scale = _standard(pooled)
    x = (pooled - mean) / scale
    found = [
        fit_logistic(x, answers[:, r], settings.picture_strength, known=text[:, r]) for r in range(answers.shape[1])
    ]
    weight = np.stack([w for w, _ in found], axis=1) / scale[:, None]
    bias = np.array([b for _, b in found], np.float32) - mean @ weight
    return weight.astype(np.float32), bias.astype(np.float32)


def from_texts(
    pooled: FloatMatrix,
    texts: Sequence[FloatMatrix],
    sources: Sequence[int],
    relations: Sequence[str],
    settings: RelationSettings,
) -> ImageSide:
    """Offsets that foretell what the text model says of the texts people write about such a picture.

    The target of a picture is the mean log-odds of its texts, less the mean over all pictures of its corpus (so that
    what tells corpora apart is not learned), shrunk where the texts are few; ridge regression on its features. A
    relation on which held-out pictures show too small a correlation, or in ``picture_silent``, gets no offset.

    Args:
        pooled: (n, P) features.
        texts: Of each picture the (texts, R) calibrated log-odds.
        sources: (n,) number of the corpus of each.
        relations: The R names.
        settings: See ``RelationSettings``.
    """
    means = np.stack([each.mean(0, dtype=np.float64) for each in texts])
    counts = np.array([len(each) for each in texts])
    of = np.asarray(sources)
    for source in np.unique(of):
        means[of == source] -= means[of == source].mean(0)
    targets = means * (counts / (counts + SHRINK))[:, None]
    mean, scale = _standard(pooled)
    x = ((pooled - mean) / scale).astype(np.float64)

    order = np.random.default_rng(settings.seed).permutation(len(x))
    held = max(1, int(HELD_OUT * len(x)))
    test, choose, train = order[:held], order[held : 2 * held], order[2 * held :]
    ridges = [_ridge(x[train], targets[train], penalty) for penalty in PENALTIES]
    errors = np.stack([np.square(x[choose] @ w - targets[choose]).mean(0) for w in ridges])  # (penalties, R)
    best = errors.argmin(0)
    correlation = []
    kept = []
    for r, name in enumerate(relations):
        offset, said = x[test] @ ridges[best[r]][:, r], means[test, r]
        spread = float(offset.std() * said.std())
        found = float(np.mean((offset - offset.mean()) * (said - said.mean())) / spread) if spread > 0 else 0.0
        correlation.append(found)
        kept.append(found >= settings.picture_correlation and name not in settings.picture_silent)
    final = {penalty: _ridge(x, targets, PENALTIES[penalty]) for penalty in set(best.tolist())}
    weight = np.stack([final[penalty][:, r] for r, penalty in enumerate(best.tolist())], axis=1) / scale[:, None]
    weight = weight * np.array(kept) * settings.picture_weight
    bias = -mean @ weight
    return ImageSide(weight.astype(np.float32), bias.astype(np.float32), tuple(correlation), tuple(kept))


def _standard(pooled: FloatMatrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return pooled.mean(0), pooled.std(0) + np.float32(1e-3)


def _ridge(x: NDArray[np.float64], y: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """(P, R) weights without a bias: both sides have mean 0, nearly."""
    return np.asarray(np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y), np.float64)
