"""The loss of a model that knows nothing, so that all similarities are equal; training has to get below it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from iconotext.objectives.hinge import hinge
from iconotext.objectives.logistic import logistic
from iconotext.objectives.softmax import softmax


def loss_without_information(
    image_negatives: Tensor, sentence_negatives: Tensor, *, kind: str, margin: float
) -> Tensor:
    """(P,) the smallest loss of each positive with equal similarities.

    - ``hinge``: the margin in each direction, 2 * margin (Hessel 2019, Eq. 1), for the hardest negative and for their
      mean.
    - ``softmax``: log(1 + n), n the number of negatives, whatever the scale.
    - ``logistic``: log(1 + n) + n * log(1 + 1 / n), where scale * similarity + bias = -log(n), the true log-odds.

    Args:
        image_negatives: (P, D) bool, as for the objectives.
        sentence_negatives: (P, D) bool.
    """
    positives, documents = image_negatives.shape
    alike = torch.zeros((documents, documents), dtype=torch.float64, device=image_negatives.device)
    masks = (image_negatives, sentence_negatives)
    if kind == "hinge":
        return hinge(alike, *masks, margin=margin, negatives="mean")
    if kind == "softmax":
        return softmax(alike, *masks, scale=1.0)
    mean = float((image_negatives.sum() + sentence_negatives.sum()) / (2 * max(positives, 1)))
    return logistic(alike, *masks, scale=1.0, bias=-math.log(mean) if mean else 100.0)
