"""The posterior objective: an image is most like the sentences that captions, layout and references link it to.

They teach the image encoder without a link that anybody made: self-training, where the picture learns from the other
kinds of evidence and never from itself. No paper of the three has this objective; it is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def posterior(
    cosines: Tensor, targets: Tensor, sentence_counts: Sequence[int], image_counts: Sequence[int], *, scale: Tensor
) -> Tensor:
    """(P,) cross-entropy of each image's softmax over the sentences against what other evidence says of them.

    An image counts as much as the probability that any of the sentences is its own; what is missing to 1 is that of
    none. Losses are scaled so that their mean over documents is the weighted mean over all images, of one image or less
    in all as if it were one.

    Args:
        cosines: (N, M), every sentence against every image; the documents' own come first on both sides, document after
            document.
        targets: Of P documents, one after the other, the (S, V) probabilities, row by row. A column may add up to more
            than 1, where several sentences are right.
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
