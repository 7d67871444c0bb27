"""The objectives of Li 2021 within documents: ``intra_document`` (Eq. 2), and ``draw_members`` for sub-documents.

``intra_document`` compares a document's likely links with its unlikely ones.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from iconotext.errors import ShapeError
from iconotext.similarity.cells import Counts, axis_of


def draw_members(counts: Counts, p_sub: float, generator: torch.Generator) -> tuple[Tensor, list[int]]:
    """Draw ⌊p_sub * count⌋ members of each set without replacement, but at least one.

    Args:
        counts: (D,) members of each set, sentences or images, 1 or more.
        p_sub: Share to draw, above 0, at most 1.

    Returns:
        (K,) int64, ascending: positions of the drawn members among the members of all sets, on the generator's device;
        and the number drawn from each set.

    Raises:
        ShapeError: A set is empty.
    """
    axis = axis_of(counts, "members")
    # A product such as 0.6 * 5 may be slightly below the intended integer.
    sizes = [max(1, math.floor(p_sub * count + 1e-9)) for count in axis.counts.tolist()]
    drawn = [
        start + torch.randperm(count, generator=generator, device=generator.device)[:size].sort().values
        for start, count, size in zip(axis.starts.tolist(), axis.counts.tolist(), sizes, strict=True)
    ]
    return torch.cat(drawn) if drawn else torch.zeros(0, dtype=torch.int64, device=generator.device), sizes


def intra_document(likely: Tensor, unlikely: Tensor, *, margin: float) -> Tensor:
    """max(0, margin - likely + unlikely): unlikely links are to be less similar than likely ones, by the margin.

    Args:
        likely: (P,) float, similarity of each document with itself, TK(M) or another one.
        unlikely: (P,) float, of the least likely links of the same matrix; see
            ``similarity.sets.negative_similarities``.
        margin: 0 or more; half of that of the cross-document objective in the paper.

    Returns:
        (P,) losses, 0 or more. A document with one sentence and one image has the loss ``margin``, and gradient 0.

    Raises:
        ShapeError: They are of different numbers of documents.
    """
    if likely.ndim != 1 or likely.shape != unlikely.shape:
        raise ShapeError(f"likely are {tuple(likely.shape)}, unlikely {tuple(unlikely.shape)}; one number a document")
    return (margin - likely + unlikely).relu()
