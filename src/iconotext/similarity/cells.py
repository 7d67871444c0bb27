"""Chosen cells of the matrix, and the weighted sum over them that is a set similarity.

Every set similarity has two parts: which cells of the matrix count, and with which weight, is chosen without a
gradient; their weighted sum is then an ordinary function of the matrix. Where the choice does not change with a small
change of the matrix the gradient of that sum, the weights in their cells and 0 elsewhere, is that of the similarity;
at a tie, where it does change, it is a subgradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """L chosen cells of the (N, M) matrix for (P, Q) similarities, on its device; a cell may occur twice.

    Attributes:
        cells: (L,) int64, row * M + column.
        pairs: (L,) int64, the similarity that the cell adds to: row * Q + column.
        weights: (L,) float, with the type of the matrix.
    """

    cells: Tensor
    pairs: Tensor
    weights: Tensor

    def at(self, places: Tensor) -> Cells:
        """Those at these places."""
        return Cells(self.cells[places], self.pairs[places], self.weights[places])


def joined(parts: list[Cells]) -> Cells:
    """All cells of the parts, in order; there is at least one part."""
    if len(parts) == 1:
        return parts[0]
    return Cells(
        torch.cat([part.cells for part in parts]),
        torch.cat([part.pairs for part in parts]),
        torch.cat([part.weights for part in parts]),
    )


def weighted_sum(matrix: Tensor, chosen: Cells, similarities: int) -> Tensor:
    """Sum of the chosen cells of each similarity, (similarities,), with gradient.

    On CUDA the order of the additions, and with it the last bit, may differ between runs, unless
    ``torch.use_deterministic_algorithms(True)`` is set.
    """
    picked = matrix.reshape(-1).index_select(0, chosen.cells)
    return picked.new_zeros(similarities).index_add(0, chosen.pairs, picked * chosen.weights)
