"""The softmax objective over sampled negatives (InfoNCE), in both directions as in CLIP."""

from __future__ import annotations

import torch
from torch import Tensor

from iconotext.objectives.directions import directions


def softmax(
    similarities: Tensor,
    image_negatives: Tensor,
    sentence_negatives: Tensor,
    *,
    scale: float | Tensor,
    own: Tensor | None = None,
) -> Tensor:
    """Mean over both directions of -log(exp(scale * positive) / (that + sum over negatives of exp(scale * negative))).

    The two directions are averaged, as in CLIP (Radford 2021), not summed as in the hinge of Hessel 2019. The loss is 0
    in a direction in which a document has no negatives. For similarities, masks and ``own`` see ``directions``.

    Args:
        scale: Factor on the similarities, above 0: 1 / temperature. A tensor, () float, may be learned.

    Returns:
        (P,) losses of the first P documents, 0 or more.

    Raises:
        ShapeError: The similarities and the masks do not fit each other, or a document is its own negative.
    """
    positives, both = directions(similarities, image_negatives, sentence_negatives, own)
    losses = torch.zeros_like(positives)
    for direction in both:
        wrong = (direction.similarities * scale).masked_fill(~direction.negatives, -torch.inf)
        right = positives * scale
        losses = losses + (torch.cat([right[:, None], wrong], dim=1).logsumexp(dim=1) - right) / 2
    return losses
