"""Chosen cells of the matrix, and the weighted sum over them that is a set similarity.

Every set similarity has two parts. First, cells of the matrix and their weights are chosen, without a gradient; then
the weighted sum of the cells is an ordinary function of the matrix. Where a small change of the matrix does not change
the choice, the gradient of that sum (the weights in their cells, 0 elsewhere) is the gradient of the similarity; at a
tie it is a subgradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """L chosen cells of an (N, M) matrix for (P, Q) similarities, on the matrix's device; cells may be repeated.

    Attributes:
        cells: (L,) int64, row * M + column.
        pairs: (L,) int64, the similarity to which the cell belongs: row * Q + column.
        weights: (L,) float, with the dtype of the matrix.
    """

    cells: Tensor
    pairs: Tensor
    weights: Tensor

    def at(self, places: Tensor) -> Cells:
        """The chosen cells at these positions."""
        return Cells(self.cells[places], self.pairs[places], self.weights[places])


def joined(parts: list[Cells]) -> Cells:
    """The cells of all parts, in order; there must be at least one part."""
    if len(parts) == 1:
        return parts[0]
    return Cells(
        torch.cat([part.cells for part in parts]),
        torch.cat([part.pairs for part in parts]),
        torch.cat([part.weights for part in parts]),
    )


def weighted_sum(matrix: Tensor, chosen: Cells, similarities: int) -> Tensor:
    """(similarities,) the weighted sum of the chosen cells of each similarity, with gradient.

    On CUDA the order of the additions, and so the last bit, may differ between runs, unless
    ``torch.use_deterministic_algorithms(True)`` is set.
    """
    picked = matrix.reshape(-1).index_select(0, chosen.cells)
    return picked.new_zeros(similarities).index_add(0, chosen.pairs, picked * chosen.weights)
