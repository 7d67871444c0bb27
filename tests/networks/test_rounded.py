from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from iconotext.networks.int8 import Affine


def test_numbers_that_are_whole_steps_are_multiplied_exactly():
    weight = np.array([[63, -1, 2], [0, 0, 0]], np.float32)
    rows = np.array([[0, 255, 3], [-5, 250, 0], [7, 7, 7], [0, 0, 0]], np.float32)
    found = Affine.of(weight, np.array([0.5, -4], np.float32))(rows)
    np.testing.assert_allclose(found, [[-248.5, -4], [-564.5, -4], [448.5, -4], [0.5, -4]])


@given(
    arrays.arrays(np.float32, (3, 7), elements=st.floats(-8, 8, width=32)),
    arrays.arrays(np.float32, (5, 7), elements=st.floats(-8, 8, width=32)),
)
@example(np.eye(3, 7, dtype=np.float32) * np.float32(1.2e-38), np.eye(5, 7, dtype=np.float32) * np.float32(1e-44))
def test_is_as_near_as_its_steps_are_fine(rows, weight):
    found = Affine.of(weight, np.zeros(5, np.float32))(rows).astype(np.float64)
    for n, row in enumerate(rows.astype(np.float64)):
        for m, weights in enumerate(weight.astype(np.float64)):
            row_step, weight_step = (row.max() - row.min()) / 255, np.abs(weights).max() / 63
            most = sum(
                abs(a) * weight_step / 2 + abs(b) * row_step / 2 + row_step * weight_step / 4
                for a, b in zip(row, weights, strict=True)
            )
            assert abs(found[n, m] - sum(row * weights)) <= most * 1.001 + 1e-3


@pytest.mark.parametrize("large", [1, 10, 30, 100, 1000, 1e6])
def test_large_numbers_do_not_take_the_steps_of_the_others(large):
    chance = np.random.default_rng(0)
    rows, weight = chance.standard_normal((90, 512)), chance.standard_normal((64, 512)) / 22
    rows[::2, 5] = large * (1 + chance.standard_normal(45) / 100)
    rows, weight = rows.astype(np.float32), weight.astype(np.float32)
    affine = Affine.of(weight, (-large * weight[:, 5]).astype(np.float32))  # what is always there is taken away
    found, expected = affine(rows)[::2], (rows.astype(np.float64) @ weight.T.astype(np.float64) + affine.bias)[::2]
    cosines = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() > 0.999
    assert np.concatenate([affine(row[None]) for row in rows]).tobytes() == affine(rows).tobytes()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 3.4e38, -3.4e38])
def test_a_row_that_cannot_be_multiplied_spoils_no_other(odd):
    chance = np.random.default_rng(0)
    rows, weight = chance.standard_normal((3, 9)).astype(np.float32), chance.standard_normal((4, 9)).astype(np.float32)
    affine = Affine.of(weight, np.zeros(4, np.float32))
    good = affine(rows)
    rows[1, 4] = odd
    found = affine(rows)
    assert np.isfinite(odd) or not np.isfinite(found[1]).any()
    assert found[[0, 2]].tobytes() == good[[0, 2]].tobytes()
