"""The positions of a batch's sets in the matrix of all sentences against all images, and weighted sums of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iconotext.errors import ShapeError

LinkBound = int | Literal["min", "half"]
"""Largest number of links. ``min``: the size of the smaller side; ``half``: half of that, rounded up; a number: that
many, but at most the size of the smaller side."""


def number_of_links(k: LinkBound, sentences: NDArray[np.int64], images: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the (P, Q) bound for every pair of a set of sentences and a set of images of these sizes, 1 or more."""
    smaller: NDArray[np.int64] = np.minimum(sentences[:, None], images[None, :])
    if k == "min":
        return smaller
    if k == "half":
        return -(-smaller // 2)
    return np.minimum(smaller, k)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Sets of equal or similar size that are processed together.

    Attributes:
        sets: (G,) numbers of the sets, ascending.
        members: (G, width) positions of their members along the axis. Smaller sets are padded by repeating their first
            member, which changes no maximum.
    """

    sets: NDArray[np.int64]
    members: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Size of the largest set."""
        return int(self.members.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One side of the matrix: D sets, one after the other; (D,) sizes, at least 1, and (D,) beginnings."""

    counts: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    def of_one_size(self) -> list[Group]:
        """Groups of sets of equal size, without padding."""
        return self._groups(self.counts)

    def of_about_one_size(self) -> list[Group]:
        """Groups of sets by size class: 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16, 17-24 and so on: few groups, little padding.

        With a group for each set, calls would cost more than the work; with all sets padded to the largest one, one
        long document would make a batch many times as large.
        """
        # An even key for sizes up to a power of 2, the odd one below for those up to three quarters of it.
        power = np.ceil(np.log2(self.counts)).astype(np.int64)
        return self._groups(2 * power - (4 * self.counts <= 3 << power))

    def _groups(self, keys: NDArray[np.int64]) -> list[Group]:
        groups = []
        for key in np.unique(keys):
            sets = np.flatnonzero(keys == key)
            place = np.arange(self.counts[sets].max())
            inside = place < self.counts[sets, None]
            groups.append(Group(sets, self.starts[sets, None] + np.where(inside, place, 0)))
        return groups


def axis_of(counts: Sequence[int], noun: str) -> Axis:
    """Make the axis of (D,) sets of these sizes, of ``sentences`` or ``images``.

    Raises:
        ShapeError: A set is empty; the message names the document.
    """
    sizes = np.array(counts, np.int64)
    empty = np.flatnonzero(sizes < 1)
    if empty.size:
        raise ShapeError(
            f"document {empty[0]} (counted from 0) has {sizes[empty[0]]} {noun}; it must have one at least: leave "
            f"documents without {noun} out"
        )
    return Axis(sizes, np.cumsum(sizes) - sizes)


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
        """Return the chosen cells at these positions."""
        return Cells(self.cells[places], self.pairs[places], self.weights[places])


def joined(parts: list[Cells]) -> Cells:
    """Join the cells of all parts, in order; there must be at least one part."""
    if len(parts) == 1:
        return parts[0]
    return Cells(
        torch.cat([part.cells for part in parts]),
        torch.cat([part.pairs for part in parts]),
        torch.cat([part.weights for part in parts]),
    )


def weighted_sum(matrix: Tensor, chosen: Cells, similarities: int) -> Tensor:
    """Compute (similarities,) the weighted sum of the chosen cells of each similarity, with gradient.

    On CUDA the order of the additions, and so the last bit, may differ between runs, unless
    ``torch.use_deterministic_algorithms(True)`` is set.
    """
    picked = matrix.reshape(-1).index_select(0, chosen.cells)
    return picked.new_zeros(similarities).index_add(0, chosen.pairs, picked * chosen.weights)
