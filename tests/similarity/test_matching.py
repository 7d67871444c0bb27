"""The matching with the largest sum, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.optimize import linear_sum_assignment

from iconotext.similarity.matching import best_matching

SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9)


def test_by_hand():
    # The largest value, 9, would leave 1 and 0; 8 + 7 + 6 is more.
    value = np.array([[9, 8, 0], [7, 1, 0], [6, 5, 6.0]])
    rows, columns = best_matching(value)
    assert (rows.tolist(), columns.tolist()) == ([0, 1, 2], [1, 0, 2])
    rows, columns = best_matching(value[:, :1])
    assert (rows.tolist(), columns.tolist()) == ([0], [0])


@given(arrays(np.float64, SHAPES, elements=st.sampled_from([-1.5, 0, 0.25, 1, 7]) | st.floats(-100, 100)))
def test_its_sum_is_that_of_scipy(value):
    rows, columns = best_matching(value)
    assert (np.diff(rows) > 0).all()
    assert len(rows) == len(set(columns.tolist())) == min(value.shape)
    assert value[rows, columns].sum() == pytest.approx(
        value[linear_sum_assignment(value, maximize=True)].sum(), abs=1e-9
    )


def test_large_rectangles():
    random = np.random.default_rng(0)
    for shape in ((700, 60), (60, 700)):
        value = random.random(shape)
        assert value[best_matching(value)].sum() == pytest.approx(
            value[linear_sum_assignment(value, maximize=True)].sum()
        )
