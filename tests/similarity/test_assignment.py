from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.similarity.assignment import matchings
from iconotext.similarity.cells import axis_of
from tests.support import set_similarities as oracles


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_every_bound_is_solved_exactly(n: Any, m: Any, seed: Any, tied: Any) -> None:
    draw = np.random.default_rng(seed)
    matrices = draw.integers(-2, 3, (2, 3, n, m)) / 2 if tied else draw.uniform(-1, 1, (2, 3, n, m))
    for k in range(1, min(n, m) + 1):
        rows, columns = matchings(matrices, k)
        assert rows.shape == columns.shape == (2, 3, k)
        for place in np.ndindex(2, 3):
            row, column, matrix = rows[place], columns[place], matrices[place]
            assert len(set(row)) == k == len(set(column))
            best, _ = oracles.best_matching(torch.from_numpy(matrix), k, "exactly")
            assert matrix[row, column].sum() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("shape", [(12, 12), (7, 30), (30, 7)])
def test_a_bound_is_what_volgenants_transformation_gives(shape: Any) -> None:
    from scipy.optimize import linear_sum_assignment

    n, m = shape
    matrices = np.random.default_rng(0).uniform(-1, 1, (5, n, m))
    for k in (1, 3, 6):
        row, column = matchings(matrices[None], k)
        for b, matrix in enumerate(matrices):
            square = np.zeros((n + m - k, n + m - k))
            square[:n, :m] = -matrix
            square[n:, m:] = np.inf
            r, c = linear_sum_assignment(square)
            real = (r < n) & (c < m)
            expected = matrix[r[real], c[real]].sum()
            assert matrix[row[0, b], column[0, b]].sum() == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=30))
def test_groups_hold_every_set_once_with_little_padding(counts: Any) -> None:
    axis = axis_of(counts, "sentences")
    for groups, padding in ((axis.of_one_size(), 1.0), (axis.of_about_one_size(), 1.5)):
        assert sorted(number for group in groups for number in group.sets) == list(range(len(counts)))
        for group in groups:
            assert group.width <= padding * min(counts[number] for number in group.sets)
            for number, members in zip(group.sets, group.members, strict=True):
                own = list(range(sum(counts[:number]), sum(counts[: number + 1])))
                assert members.tolist() == own + own[:1] * (group.width - len(own))
