"""Assignment: the best matching, at most one image a sentence and one sentence an image (Hessel 2019 §3.2, AP).

``assignment_cells`` chooses the links of a batch of documents, ``matchings`` solves matrices of one shape.

The solver is lapx's ``lapjvh_batch``, a shortest augmenting path algorithm (Jonker and Volgenant 1987) that takes many
problems of one shape at once, rectangles without padding, and divides them among threads; it computes in float64, and
each problem separately, so that the number of threads has no influence on the result.

**Exactly k links** out of n rows and m columns, n ≤ m, is the problem with n - k dummy columns more, which cost
nothing, and the cost c - M in the others, where c is larger than any M. Every row takes a column. In the best solution
no dummy column stays free: a row with a real column would save c - M > 0 by moving there. So exactly k rows have real
columns, and among those solutions the least sum of k·c - M has the largest sum of M. Volgenant's transformation (2004)
also adds m - k dummy rows and forbids dummies to meet; without them the problems are smaller. With the dummy columns in
front, where the solver meets them first, they are solved two to four times as fast, except for large squares.

**At most k links** of the largest sum is exactly k of them for max(M, 0), where cells that are not positive are left
out afterwards: they add 0 to the sum, and a link with a negative cell would lower it.
"""

from __future__ import annotations

from typing import Literal

import lap
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iconotext.similarity.cells import Axis, Cells, LinkBound, number_of_links

Links = Literal["at-most", "exactly"]
"""``at-most``: the paper's constraint, at most k links, none with a negative value. ``exactly``: the released code's, k
links whatever their values."""

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


def assignment_cells(scores: Tensor, sentences: Axis, images: Axis, *, k: LinkBound, links: Links) -> Cells:
    """The links of the best matching for each pair of sets, each with weight 1 / number of links.

    Args:
        scores: (N, M), without gradient; copied from a GPU to the CPU for solving. A value that is not finite is among
            the chosen ones of its pair of sets, so that the similarity is not finite either.
        sentences: P sets along the rows.
        images: Q sets along the columns.
    """
    bound = number_of_links(k, sentences.counts, images.counts)
    # NumPy from here on: in such small steps PyTorch's threads would wait for each other.
    matrix = _finite(scores.cpu().numpy().astype(np.float64), most=int(bound.max()))
    gain = np.maximum(matrix, 0.0) if links == "at-most" else matrix
    across, down = sentences.of_one_size(), images.of_one_size()
    cells, pairs = [], []
    for rows in across:
        # A single group is the whole axis: use a view instead of a copy.
        slab = gain.reshape(*rows.members.shape, -1) if len(across) == 1 else gain[rows.members]
        for columns in down:
            block = (
                slab.reshape(*slab.shape[:2], *columns.members.shape) if len(down) == 1 else slab[:, :, columns.members]
            )
            count = int(bound[rows.sets[0], columns.sets[0]])
            row, column = matchings(block.transpose(0, 2, 1, 3), count)  # (G, H, count)
            begin = rows.members[:, :1] * matrix.shape[1] + columns.members[:, 0]
            cells.append((row * matrix.shape[1] + column + begin[:, :, None]).ravel())
            pairs.append(np.repeat(rows.sets[:, None] * len(images) + columns.sets, count))
    cell, pair = np.concatenate(cells), np.concatenate(pairs)
    if links == "at-most":
        positive = gain.ravel()[cell] > 0
        cell, pair = cell[positive], pair[positive]
    weight = 1.0 / np.maximum(np.bincount(pair, minlength=bound.size), 1)[pair]
    return Cells(
        torch.from_numpy(cell).to(scores.device),
        torch.from_numpy(pair).to(scores.device),
        torch.from_numpy(weight).to(scores),
    )


def matchings(gain: Matrix, k: int) -> tuple[Numbers, Numbers]:
    """The k links, 1 to min(n, m), with the largest sum in each of G x H finite matrices (G, H, n, m).

    They are rows and columns, each (G, H, k), sorted by row, or by column if n > m.
    """
    if gain.shape[2] > gain.shape[3]:
        row, column = matchings(gain.transpose(0, 1, 3, 2), k)
        return column, row
    *problems, rows, columns = gain.shape
    dummies = rows - k
    cost = np.zeros((*problems, rows, dummies + columns))
    # The cost of a real column must be above 0, for numbers of any size.
    np.subtract(2.0 * np.abs(gain).max() + 1.0 if dummies else 0.0, gain, out=cost[..., dummies:])
    # As many threads as PyTorch uses, so that one setting controls both.
    solved = lap.lapjvh_batch(
        cost.reshape(-1, rows, dummies + columns),
        True,
        return_cost=False,
        n_threads=torch.get_num_threads(),
        output="pairs",
    )
    # A solution has a pair for each row, in order; the k pairs with a real column count.
    pairs = np.concatenate(solved)
    if dummies:
        pairs = pairs[pairs[:, 1] >= dummies]
    pairs = pairs.reshape(*problems, k, 2)
    return pairs[..., 0], pairs[..., 1] - dummies


def _finite(matrix: Matrix, most: int) -> Matrix:
    """Replace values that are not finite by a number so large that a best matching must contain one.

    The solver's results for such values are undefined. ``most`` is the largest number of links of a matching, which
    cannot gain or lose more than 2 * most * the largest finite value.
    """
    broken = ~np.isfinite(matrix)
    if not broken.any():
        return matrix
    largest = np.abs(matrix[~broken]).max(initial=0.0)
    return np.where(broken, 2.0 * (most + 1) * largest + 1.0, matrix)
