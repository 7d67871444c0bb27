"""Draws the negatives of each document."""

from __future__ import annotations

import torch
from torch import Tensor

from iconotext.errors import ShapeError


def sample_negatives(
    positives: int, documents: int, b: int | None, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """For each positive, b other documents whose images, and b others whose sentences, are its negatives.

    Args:
        positives: P, the first documents of the batch.
        documents: D, all documents of the batch, P or more: those beyond P serve as negatives only.
        b: Negatives in each direction, from 1, drawn without replacement and for each direction anew; None for all.

    Returns:
        image_negatives and sentence_negatives, (P, D) bool, no document its own negative.

    Raises:
        ShapeError: There are fewer documents than positives, or than b negatives and a positive need.
    """
    if not 0 <= positives <= documents:
        raise ShapeError(f"{positives} positives among {documents} documents: they must be some of them")
    everyone = torch.ones(positives, documents, dtype=torch.bool, device=generator.device)
    others = everyone.fill_diagonal_(False) if everyone.numel() else everyone
    if b is None:
        return others, others.clone()
    if b > documents - 1:
        raise ShapeError(
            f"b = {b} negatives need {b + 1} documents in a step, there are {documents}; put more documents into a "
            "step, or lower b"
        )
    return _draw(others, b, generator), _draw(others, b, generator)


def _draw(others: Tensor, b: int, generator: torch.Generator) -> Tensor:
    keys = torch.rand(others.shape, generator=generator, device=generator.device).masked_fill(~others, 2.0)
    drawn = torch.zeros_like(others)
    return drawn.scatter_(1, keys.argsort(dim=1)[:, :b], True)
