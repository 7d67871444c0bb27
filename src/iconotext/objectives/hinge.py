"""The max-margin loss over sampled negatives, Equation 1 of Hessel 2019."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from iconotext.objectives.directions import directions

Negatives = Literal["hardest", "mean"]
"""``hardest``: only the negative that violates the margin most counts; ``mean``: the mean over all."""


def hinge(
    similarities: Tensor,
    image_negatives: Tensor,
    sentence_negatives: Tensor,
    *,
    margin: float = 0.2,
    negatives: Negatives,
    own: Tensor | None = None,
) -> Tensor:
    """Sum over both directions of max(0, margin - positive + negative), for the hardest negative or their mean.

    The loss is 0 in a direction in which a document has no negatives. For similarities, masks and ``own`` see
    ``directions``.

    Args:
        margin: By how much a positive is to exceed its negatives, 0 or more; if all similarities are equal, the loss is
            2 * margin.

    Returns:
        (P,) losses of the first P documents, 0 or more. Where several negatives are the hardest, one gets the gradient.

    Raises:
        ShapeError: The similarities and the masks do not fit each other, or a document is its own negative.
    """
    positives, both = directions(similarities, image_negatives, sentence_negatives, own)
    losses = torch.zeros_like(positives)
    if not losses.numel():
        return losses
    for direction in both:
        violations = (margin - positives[:, None] + direction.similarities).relu()
        violations = violations.where(direction.negatives, 0.0)  # 0 is the least there is
        if negatives == "hardest":
            losses = losses + violations.max(dim=1).values
        else:
            losses = losses + violations.sum(dim=1) / direction.negatives.sum(dim=1).clamp(min=1)
    return losses
