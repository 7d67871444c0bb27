"""Finds the best partner of every sentence, or image, in every set of the other side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iconotext.similarity.axis import Axis, Group
from iconotext.similarity.cells import Cells, joined


@dataclass(frozen=True, slots=True)
class Strides:
    """Combines row and column into one flat number: row * ``row`` + column * ``column``.

    For an (N, M) matrix, (M, 1) gives the numbers of its cells; (1, M) gives the same numbers for its transpose, so
    that one function serves both directions.
    """

    row: int
    column: int

    def flat(self, row: Tensor, column: Tensor) -> Tensor:
        """The flat numbers of cells."""
        return row * self.row + column * self.column


def best_cells(
    scores: Tensor, rows: Axis, columns: Axis, *, kept: NDArray[np.int64], cells: Strides, pairs: Strides
) -> Cells:
    """For every set of rows and every set of columns, the cells whose mean is the similarity.

    Each row takes its best column of the set; the ``kept`` highest of these cells are used, each with weight 1 / kept.
    Ties go to the first row; among columns of a row PyTorch decides, deterministically.

    Args:
        scores: (N, M), no gradient.
        rows: P sets of rows.
        columns: Q sets of columns.
        kept: (P, Q) number of cells to use, from 1 to the number of rows.
        cells: From row and column of ``scores`` to the number of a cell.
        pairs: From a set of rows and a set of columns to the number of a similarity.
    """
    values, best = _best_columns(scores, columns)
    across = torch.arange(len(columns), device=scores.device)
    if (kept == rows.counts[:, None]).all():
        of_row = np.repeat(np.arange(len(rows)), rows.counts)
        weight = torch.from_numpy(1.0 / kept[of_row]).to(scores)
        number = cells.flat(torch.arange(len(scores), device=scores.device)[:, None], best)
        pair = pairs.flat(torch.from_numpy(of_row).to(scores.device)[:, None], across)
        return Cells(number.flatten(), pair.flatten(), weight.flatten())
    parts = []
    for group in rows.of_about_one_size():
        bound = kept[group.sets]
        row = _best_rows(values, group, rows.counts[group.sets], most=int(bound.max()))
        number = cells.flat(row, best.gather(0, row.flatten(0, 1)).view_as(row))
        sets = torch.from_numpy(group.sets).to(scores.device)[:, None, None]
        pair = pairs.flat(sets, across).expand_as(row)
        weight = torch.from_numpy(1.0 / bound).to(scores)[:, None].expand_as(row)
        part = Cells(number.flatten(), pair.flatten(), weight.flatten())
        if bound.min() < bound.max():
            inside = np.arange(bound.max())[None, :, None] < bound[:, None]
            part = part.at(torch.from_numpy(np.flatnonzero(inside)).to(scores.device))
        parts.append(part)
    return joined(parts)


def _best_columns(scores: Tensor, columns: Axis) -> tuple[Tensor, Tensor]:
    """Value and column of the best cell of every row in every set of columns, each (N, Q)."""
    rows, device = len(scores), scores.device
    if (columns.counts == columns.counts[0]).all():  # a view is enough
        values, best = scores.reshape(rows, len(columns), -1).max(-1)
        return values, best + torch.from_numpy(columns.starts).to(device)
    values = scores.new_empty(rows, len(columns))
    best = torch.empty(values.shape, dtype=torch.int64, device=device)
    for group in columns.of_about_one_size():
        members, sets = (torch.from_numpy(array).to(device) for array in (group.members, group.sets))
        found = scores.index_select(1, members.flatten()).view(rows, *members.shape).max(-1)
        values[:, sets] = found.values
        best[:, sets] = members.gather(1, found.indices.t()).t()
    return values, best


def _best_rows(values: Tensor, group: Group, counts: NDArray[np.int64], *, most: int) -> Tensor:
    """(G, most, Q) the rows of each set, sorted by value, separately for each column of ``values``.

    ``most`` may exceed the size of a set; the surplus is meaningless.
    """
    members = torch.from_numpy(group.members).to(values.device)
    own = values[members]  # (G, width, Q)
    if counts.min() < group.width:
        repeated = torch.from_numpy(np.arange(group.width) >= counts[:, None]).to(values.device)
        own = own.masked_fill(repeated[:, :, None], -torch.inf)  # last, since the sort is stable
    order = own.sort(dim=1, descending=True, stable=True).indices[:, :most]
    return members.gather(1, order.flatten(1)).view_as(order)
