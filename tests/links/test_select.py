from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from iconotext.errors import SettingError
from iconotext.links.select import SELECTIONS, assignment, selection

CONFIDENCE = np.array([[0.9, 0.8], [0.7, 0.1], [0.0, 0.0]], np.float32)

matrices = arrays(
    np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4), elements=st.floats(0, 1, width=32)
)


@pytest.mark.parametrize(
    ("name", "options", "cells"),
    [
        ("best", {}, {(0, 0), (0, 1)}),
        ("top-k", {"k": 2}, {(0, 0), (1, 0), (0, 1), (1, 1)}),
        ("top-k", {"k": 2, "min_confidence": 0.5}, {(0, 0), (1, 0), (0, 1)}),
        ("threshold", {"min_confidence": 0.8}, {(0, 0), (0, 1)}),
        # greedy: 0.9 + 0.1; best: 0.8 + 0.7
        ("assignment", {}, {(1, 0), (0, 1)}),
        # 1.0 would be reached by no two cells of at least 0.75 in different rows and columns: the better one alone
        ("assignment", {"min_confidence": 0.75}, {(0, 0)}),
    ],
)
def test_by_hand(name: Any, options: Any, cells: Any) -> None:
    chosen = selection(name)(CONFIDENCE, **options)
    assert set(zip(*(axis.tolist() for axis in chosen.nonzero()), strict=True)) == cells


def brute_force(matrix: Any) -> Any:
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    rows, columns = wide.shape
    return max(sum(float(wide[r, c]) for r, c in enumerate(order)) for order in permutations(range(columns), rows))


@given(matrices)
def test_assignment_is_the_best_matching(matrix: Any) -> None:
    chosen = assignment(matrix)
    assert (chosen.sum(axis=0) <= 1).all()
    assert (chosen.sum(axis=1) <= 1).all()
    if matrix.size:
        assert matrix[chosen].sum(dtype=np.float64) == pytest.approx(brute_force(matrix), abs=1e-5)


@pytest.mark.parametrize("name", SELECTIONS)
@given(matrix=matrices, least=st.floats(0, 1))
def test_shape_threshold_and_repetition(name: Any, matrix: Any, least: Any) -> None:
    chosen = selection(name)(matrix, min_confidence=least)
    assert chosen.shape == matrix.shape
    assert (matrix[chosen] >= least).all()
    np.testing.assert_array_equal(chosen, selection(name)(matrix.copy(), min_confidence=least))


@pytest.mark.parametrize("name", ["best", "top-k"])
def test_ties_go_to_the_first_sentence(name: Any) -> None:
    chosen = selection(name)(np.full((4, 2), 0.5, np.float32), k=1)
    np.testing.assert_array_equal(chosen.nonzero()[0], [0, 0])


def test_wrong_settings() -> None:
    with pytest.raises(SettingError, match="nearest"):
        selection("nearest")
    with pytest.raises(SettingError, match="k is 0"):
        selection("top-k")(CONFIDENCE, k=0)
