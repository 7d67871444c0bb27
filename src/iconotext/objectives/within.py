"""The objectives that look into a document.

Those of Li 2021, and ``posterior`` (learning from captions, layout and references), which is ours, need sets of
sentences and images; ``coherence`` of Alikhani 2021 predicts the relations of a text and its image from their vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from iconotext.similarity.cells import axis_of


def draw_members(counts: Sequence[int], p_sub: float, generator: torch.Generator) -> tuple[Tensor, list[int]]:
    """Draw ⌊p_sub * count⌋ members of each set without replacement, but at least one.

    Args:
        counts: (D,) members of each set, sentences or images, 1 or more.
        p_sub: Share to draw, above 0, at most 1.

    Returns:
        (K,) int64, ascending: positions of the drawn members among the members of all sets, on the generator's device;
        and the number drawn from each set.
    """
    axis = axis_of(counts, "members")
    # Rounded down (Li 2021, Eq. 3), but at least one. A product such as 0.6 * 5 may be slightly below the whole number.
    sizes = [max(1, math.floor(p_sub * count + 1e-9)) for count in axis.counts.tolist()]
    drawn = [
        start + torch.randperm(count, generator=generator, device=generator.device)[:size].sort().values
        for start, count, size in zip(axis.starts.tolist(), axis.counts.tolist(), sizes, strict=True)
    ]
    return torch.cat(drawn), sizes


def intra_document(likely: Tensor, unlikely: Tensor, *, margin: float) -> Tensor:
    """max(0, margin - likely + unlikely): unlikely links are to be less similar than likely ones, by the margin.

    Args:
        likely: (P,) float, similarity of each document with itself, TK(M) or another one.
        unlikely: (P,) float, of the least likely links of the same matrix; see
            ``similarity.sets.negative_similarities``.
        margin: 0 or more; half of that of the cross-document objective in the paper.

    Returns:
        (P,) losses, 0 or more. A document with one sentence and one image has the loss ``margin``, and gradient 0.
    """
    return (margin - likely + unlikely).relu()


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
        block = cosines[row : row + sentences, column : column + images]
        target = targets[place : place + sentences * images].view(sentences, images)
        row, column, place = row + sentences, column + images, place + sentences * images
        sums = target.sum(0)
        entropy = -(target / sums.clamp(min=1e-6) * torch.log_softmax(block * scale, 0)).sum(0)
        weight = sums.clamp(max=1)
        losses.append((weight * entropy).sum())
        weights.append(weight.sum())
    total = torch.stack(weights).sum().clamp(min=1)
    # So scaled, the caller's mean over documents is the weighted mean over images.
    return torch.stack(losses) * (len(losses) / total)


def coherence(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """(P,) weighted binary cross-entropy, summed over relations (Eq. 2, in which the sign is wrong).

    Args:
        logits: (P, R) log-odds of each relation, of each pair of a text and an image.
        labels: (P, R) 1 or 0; NaN for no answer, which does not count.
        weights: (R,) of the relations: 1 / positive rate.
    """
    answered = ~labels.isnan()
    losses = functional.binary_cross_entropy_with_logits(logits, labels.nan_to_num(), reduction="none")
    return torch.where(answered, losses * weights, torch.zeros_like(losses)).sum(1)


def relation_weights(labels: Tensor) -> Tensor:
    """(R,) 1 / share of 1 among the known ones of (P, R) training labels (w_c of Eq. 2).

    The weight is 1 for a relation without answers, or that never holds, since its rate is unknown.
    """
    rates = labels.nanmean(0).nan_to_num()
    return torch.where(rates > 0, 1 / rates.clamp(min=1e-12), torch.ones_like(rates))
