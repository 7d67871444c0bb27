"""The softmax objective over sampled negatives (InfoNCE), in both directions as in CLIP."""

from __future__ import annotations

import torch
from torch import Tensor

from iconotext.objectives.directions import check_scale, directions


def softmax(
    similarities: Tensor,
    image_negatives: Tensor,
    sentence_negatives: Tensor,
    *,
    scale: float | Tensor,
    own: Tensor | None = None,
) -> Tensor:
    """Mean over both directions of -log(exp(scale * positive) / (that + sum over negatives of exp(scale * negative))).

    The two directions are averaged, as in CLIP (Radford 2021), not summed as in the hinge of Hessel 2019. A document
    without negatives in a direction has the loss 0 there.

    Args:
        similarities: (D, D) float, [i, j] of the sentences of document i with the images of document j.
        image_negatives: (P, D) bool, [i, j] whether the images of j are negatives for the sentences of i; P ≤ D.
        sentence_negatives: (P, D) bool, [i, j] whether the sentences of j are negatives for the images of i.
        scale: Factor on the similarities, above 0: 1 / temperature. A tensor, () float, may be learned.
        own: (P,) similarities of the positives, where they are not those of the whole documents: of their
            sub-documents (Li 2021, Eq. 4).

    Returns:
        (P,) losses of the first P documents, 0 or more.

    Raises:
        ShapeError: The similarities and the masks do not fit each other, or a document is its own negative.
        SettingError: ``scale`` is a number that is not above 0.
    """
    check_scale(scale)
    positives, both = directions(similarities, image_negatives, sentence_negatives, own)
    losses = torch.zeros_like(positives)
    for direction in both:
        wrong = (direction.similarities * scale).masked_fill(~direction.negatives, -torch.inf)
        right = positives * scale
        losses = losses + (torch.cat([right[:, None], wrong], dim=1).logsumexp(dim=1) - right) / 2
    return losses
