"""The objective ``coherence`` of Alikhani 2021: the relations of a text and its image, predicted from their vectors."""

from __future__ import annotations

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
    answered = ~labels.isnan()
    losses = functional.binary_cross_entropy_with_logits(logits, labels.nan_to_num(), reduction="none")
    return torch.where(answered, losses * weights, torch.zeros_like(losses)).sum(1)


def relation_weights(labels: Tensor) -> Tensor:
    """(R,) 1 / share of 1 among the known ones of (P, R) training labels (w_c of Eq. 2).

    The weight is 1 for a relation without answers, or that never holds, since its rate is unknown.
    """
    rates = labels.nanmean(0).nan_to_num()
    return torch.where(rates > 0, 1 / rates.clamp(min=1e-12), torch.ones_like(rates))
