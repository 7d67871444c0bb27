"""The coherence objective: the relations of a text and its image can be told from their vectors (Alikhani 2021)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def coherence(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """(P,) weighted binary cross-entropy, summed over relations (Eq. 2, whose sign is to be read the other way).

    Args:
        logits: (P, R) log-odds of each relation, of each pair of a text and an image.
        labels: (P, R) 1 or 0; NaN where nobody answered, which counts as nothing.
        weights: (R,) of the relations, one divided by the positive rate.
    """
    known = ~labels.isnan()
    losses = functional.binary_cross_entropy_with_logits(logits, labels.nan_to_num(), reduction="none")
    return torch.where(known, losses * weights, torch.zeros_like(losses)).sum(1)


def relation_weights(labels: Tensor) -> Tensor:
    """(R,) one divided by the share of the known ones of (P, R) labels for training that are 1 (w_c of Eq. 2).

    A relation that nobody answered, or that never holds, counts once: no rate can be told.
    """
    rates = labels.nanmean(0).nan_to_num()
    return torch.where(rates > 0, 1 / rates.clamp(min=1e-12), torch.ones_like(rates))
