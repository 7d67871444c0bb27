"""The posterior objective: an image is to be most similar to the sentences that the other evidence links it to.

Caption, layout and reference evidence give the targets, so that no labelled links are needed: self-training, in which
the picture never teaches itself. None of the three papers has this objective; it is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


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
