"""Sub-documents of Li 2021, Eq. 3: random parts of documents, which must still fit together."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from iconotext.similarity.axis import Counts, axis_of


def draw_members(counts: Counts, p_sub: float, generator: torch.Generator) -> tuple[Tensor, list[int]]:
    """Draw ⌊p_sub * count⌋ members of each set without replacement, but one at least.

    Args:
        counts: (D,) members of each set, sentences or images, 1 or more.
        p_sub: Share that is kept, above 0, at most 1.

    Returns:
        (K,) int64, ascending: the drawn members among those of all sets, on the generator's device; and how many each
        set has.

    Raises:
        ShapeError: A set is empty.
    """
    axis = axis_of(counts, "members")
    # A product such as 0.6 * 5 may fall just short of the whole number that is meant.
    sizes = [max(1, math.floor(p_sub * count + 1e-9)) for count in axis.counts.tolist()]
    drawn = [
        start + torch.randperm(count, generator=generator, device=generator.device)[:size].sort().values
        for start, count, size in zip(axis.starts.tolist(), axis.counts.tolist(), sizes, strict=True)
    ]
    return torch.cat(drawn) if drawn else torch.zeros(0, dtype=torch.int64, device=generator.device), sizes
