"""The logistic objective: every pair of sentences and images is a yes-or-no question of its own, as in SigLIP."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from iconotext.objectives.directions import directions


def logistic(
    similarities: Tensor,
    image_negatives: Tensor,
    sentence_negatives: Tensor,
    *,
    scale: float | Tensor,
    bias: float | Tensor,
    own: Tensor | None = None,
) -> Tensor:
    """-log σ(scale * positive + bias), minus half the sum over the negatives of log σ(-(scale * negative + bias)).

    Half, because if all other documents are negatives, every pair of documents is a negative twice: as images for
    sentences and as sentences for images. So the mean over documents is the loss of SigLIP (Zhai 2023). The sum grows
    with the number of negatives; the bias, initially -10 in SigLIP, compensates for that. For similarities, masks and
    ``own`` see ``directions``.

    Args:
        scale: Factor on the similarities, above 0. A tensor, () float, may be learned.
        bias: Log-odds of a pair with similarity 0. A tensor, () float, may be learned.

    Returns:
        (P,) losses of the first P documents, 0 or more.

    Raises:
        ShapeError: The similarities and the masks do not fit each other, or a document is its own negative.
    """
    positives, both = directions(similarities, image_negatives, sentence_negatives, own)
    losses = softplus(-(positives * scale + bias))
    for direction in both:
        wrong = softplus(direction.similarities * scale + bias)
        losses = losses + wrong.where(direction.negatives, torch.zeros_like(wrong)).sum(dim=1) / 2
    return losses
