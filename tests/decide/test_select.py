from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from iconotext.decide.choose import SELECTIONS, assignment, in_order, selection
from iconotext.errors import SettingError

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


def by_enumeration(own: Any, none: Any, step_back: float) -> Any:
    """What every way to give each image a sentence or none weighs, in all and by what it gives."""
    sentences, images = own.shape
    found, total = np.zeros(own.shape), 0.0
    for way in product([None, *range(sentences)], repeat=images):
        weight, last = 1.0, 0
        for j, i in enumerate(way):
            weight *= none[j] if i is None else own[i, j]
            if i is not None:
                weight *= step_back if i < last else 1.0
                last = i
        total += weight
        for j, i in enumerate(way):
            if i is not None:
                found[i, j] += weight
    return found, total


@given(matrix=matrices, step_back=st.sampled_from([0.0067, 0.3, 1.0]), full=st.booleans())
def test_in_order_sums_over_every_way(matrix: Any, step_back: float, full: bool) -> None:
    confidence = matrix / max(float(matrix.sum(axis=0).max(initial=0)), 1e-3 if full else 1.0)
    none = np.maximum(1 - confidence.sum(axis=0, dtype=np.float64), 1e-9)
    found, total = by_enumeration(confidence, none, step_back)
    level = np.ones(confidence.shape) * confidence.mean(axis=0, dtype=np.float64) if matrix.size else confidence
    ordered = total / by_enumeration(level, none, step_back)[1]
    share = ordered / (ordered + by_enumeration(confidence, none, 1.0)[1])
    expected = share * found / total + (1 - share) * confidence
    np.testing.assert_allclose(in_order(confidence, step_back=step_back), expected, atol=1e-5)
    if step_back == 1:
        np.testing.assert_allclose(expected, confidence, atol=1e-5)


def test_in_order_by_hand() -> None:
    # The first image has the last sentence for sure; the second wavers between the first and the last, .6 to .4.
    confidence = np.array([[0, 0.6], [0, 0], [1, 0.4]], np.float32)
    back = 0.6 * 0.0067
    # If nothing were known, 6 of the 9 ways would be in order, 3 not: the ordered ways weigh so many times more.
    ordered = (back + 0.4) / ((6 + 3 * 0.0067) / 9)
    share = ordered / (ordered + 1)
    expected = [share * back / (back + 0.4) + (1 - share) * 0.6, 0, share * 0.4 / (back + 0.4) + (1 - share) * 0.4]
    np.testing.assert_allclose(in_order(confidence)[:, 1], expected, atol=1e-6)


def test_images_that_are_surely_in_another_order_are_left_as_they_are() -> None:
    confidence = 0.96 * np.eye(6, dtype=np.float32)[:, ::-1] + np.float32(0.005)
    np.testing.assert_allclose(in_order(confidence), confidence, atol=1e-4)


def test_in_order_of_a_long_document() -> None:
    confidence = np.random.default_rng(0).dirichlet(np.full(2001, 0.01), 500).T[:2000].astype(np.float32)
    found = in_order(confidence)
    assert np.isfinite(found).all()
    assert found.sum(axis=0).max() <= 1 + 1e-5


def test_wrong_settings() -> None:
    with pytest.raises(SettingError, match="nearest"):
        selection("nearest")
    with pytest.raises(SettingError, match="k is 0"):
        selection("top-k")(CONFIDENCE, k=0)
