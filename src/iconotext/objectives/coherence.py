"""Objectives that learn from other evidence than links: ``coherence`` (Alikhani 2021) and ``posterior``.

``coherence`` predicts the relations of a text and its image from their vectors. ``posterior`` learns the links that
captions, layout and references make probable.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


def coherence(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """(P,) weighted binary cross-entropy, summed over relations (Eq. 2, in which the sign is wrong).

    Args:
        logits: (P, R) log-odds of each relation, of each pair of a text and an image.
        labels: (P, R) 1 or 0; NaN for no answer, which does not count.
        weights: (R,) of the relations: 1 / positive rate.
    """
    known = ~labels.isnan()
    losses = functional.binary_cross_entropy_with_logits(logits, labels.nan_to_num(), reduction="none")
    return torch.where(known, losses * weights, torch.zeros_like(losses)).sum(1)


def relation_weights(labels: Tensor) -> Tensor:
    """(R,) 1 / share of 1 among the known ones of (P, R) training labels (w_c of Eq. 2).

    The weight is 1 for a relation without answers, or that never holds, since its rate is unknown.
    """
    rates = labels.nanmean(0).nan_to_num()
    return torch.where(rates > 0, 1 / rates.clamp(min=1e-12), torch.ones_like(rates))


def posterior(
    cosines: Tensor, targets: Tensor, sentence_counts: Sequence[int], image_counts: Sequence[int], *, scale: Tensor
) -> Tensor:
    """(P,) losses of P documents: cross-entropy of each image's softmax over its sentences against ``targets``.

    The weight of an image is the probability that any sentence belongs to it: the sum of its targets, at most 1. The
    losses are scaled so that their mean is the weighted mean over all images; a total weight below 1 counts as 1.

    Args:
        cosines: (N, M) of all sentences with all images. Those of the P documents come first, one document after the
            other; the rest is ignored.
        targets: The (S, V) probabilities of each document, flattened row by row, one document after the other. A column
            may sum to more than 1 if several sentences are right.
        sentence_counts: (P,) S of each document, 1 or more.
        image_counts: (P,) V of each document, 1 or more.
        scale: () factor on the cosines, above 0; may be learned.
    """
    losses, weights = [], []
    row = column = place = 0
    for sentences, images in zip(sentence_counts, image_counts, strict=True):
        own = cosines[row : row + sentences, column : column + images]
        target = targets[place : place + sentences * images].view(sentences, images)
        row, column, place = row + sentences, column + images, place + sentences * images
        sums = target.sum(0)
        entropy = -(target / sums.clamp(min=1e-6) * torch.log_softmax(own * scale, 0)).sum(0)
        weight = sums.clamp(max=1)
        losses.append((weight * entropy).sum())
        weights.append(weight.sum())
    total = torch.stack(weights).sum().clamp(min=1)
    return torch.stack(losses) * (len(losses) / total)
