from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from iconotext.encoders.coherence_relations import confidence, refine, top_difference
from iconotext.errors import SettingError, ShapeError


@st.composite
def cases(draw):
    q, n, r = draw(st.integers(0, 4)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    cosines = draw(arrays(np.float64, (q, n), elements=st.sampled_from([-0.5, 0.0, 0.3, 0.35, 0.4, 0.9])))
    return cosines, draw(arrays(np.float64, (q, n, r), elements=st.floats(0, 1)))


def slow(cosines, probabilities, strength, threshold):
    """The equations, cell by cell."""
    found = []
    for row, relations in zip(cosines.tolist(), probabilities.tolist(), strict=True):
        best = sorted(row, reverse=True)
        hard = len(best) > 1 and best[0] - best[1] < threshold
        etas = [sum(math.exp(strength * abs(x - 0.5)) for x in each) for each in relations]
        found.append([value * eta if hard else value for value, eta in zip(row, etas, strict=True)])
    return found


def test_by_hand():
    cosines = np.array([[0.5, 0.45, 0.1], [0.9, 0.2, 0.1]])
    probabilities = np.array([[[0.5], [1.0], [0.0]]] * 2)
    found = refine(cosines, probabilities, strength=0.4, threshold=0.1)
    sure = math.exp(0.2)
    assert found[0] == pytest.approx([0.5, 0.45 * sure, 0.1 * sure])  # the second image is now the first
    assert found[1].tolist() == [0.9, 0.2, 0.1]  # 0.7 ahead: easy
    assert refine(cosines, probabilities, strength=0.4, threshold=0.71)[1] == pytest.approx(
        [0.9, 0.2 * sure, 0.1 * sure]
    )


def test_the_confidence_is_that_of_equations_4_and_5():
    assert confidence(np.array([0.5, 0.5]), 0.13) == 2
    assert confidence(np.array([0.0, 1.0]), 0.13) == pytest.approx(2 * math.exp(0.065))
    assert confidence(np.array([[0.9], [0.1]]), 1.0) == pytest.approx([math.exp(0.4)] * 2)


@given(cases(), st.sampled_from([0.0, 0.13, 2.0]), st.sampled_from([0.0, 0.06, 0.2, 3.0]))
def test_agrees_with_the_equations_cell_by_cell(case, strength, threshold):
    cosines, probabilities = case
    found = refine(cosines, probabilities, strength=strength, threshold=threshold)
    assert found.shape == cosines.shape
    assert found.ravel().tolist() == pytest.approx(
        [value for row in slow(cosines, probabilities, strength, threshold) for value in row]
    )


@given(cases())
def test_without_strength_or_threshold_no_rank_changes(case):
    cosines, probabilities = case
    assert np.array_equal(refine(cosines, probabilities, strength=1.0, threshold=0.0), cosines)
    flat = refine(cosines, probabilities, strength=0.0, threshold=3.0)
    for before, after in zip(cosines, flat, strict=True):
        assert np.array_equal(np.argsort(-before, kind="stable"), np.argsort(-after, kind="stable"))


def test_a_constant_factor_such_as_the_number_of_relations_moves_nothing():
    random = np.random.default_rng(0)
    cosines, probabilities = random.normal(size=(20, 30)) / 5, random.random((20, 30, 4))
    summed = refine(cosines, probabilities, strength=0.3, threshold=9)
    mean = cosines * confidence(probabilities, 0.3) / 4
    assert np.array_equal(summed.argsort(axis=1), mean.argsort(axis=1))


def test_a_sure_image_below_zero_sinks():
    found = refine(np.array([[-0.1, -0.101]]), np.array([[[1.0], [0.5]]]), strength=1.0, threshold=0.1)
    assert found[0, 0] < found[0, 1]


def test_a_single_image_is_never_hard_and_type_and_input_stay():
    cosines = np.array([[0.25]], np.float32)
    found = refine(cosines, np.ones((1, 1, 2), np.float32), strength=1.0, threshold=math.inf)
    assert found.dtype == np.float32
    assert found.tolist() == [[0.25]]
    found[0, 0] = 1
    assert cosines[0, 0] == 0.25
    assert refine(np.zeros((0, 5)), np.zeros((0, 5, 1)), strength=0.1, threshold=0.1).shape == (0, 5)
    assert refine(np.zeros((2, 0)), np.zeros((2, 0, 1)), strength=0.1, threshold=0.1).shape == (2, 0)


def test_top_difference():
    assert top_difference(np.array([[0.1, 0.9, 0.7], [0.5, 0.5, 0.0]])) == pytest.approx([0.2, 0.0])
    assert top_difference(np.array([[0.3]])).tolist() == [math.inf]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused(bad):
    good, probabilities = np.zeros((1, 2)), np.zeros((1, 2, 1))
    with pytest.raises(ShapeError, match="query 0 and image 1"):
        refine(np.array([[0.0, bad]]), probabilities, strength=0.1, threshold=0.1)
    with pytest.raises(ShapeError, match="from 0 to 1"):
        refine(good, np.full((1, 2, 1), bad), strength=0.1, threshold=0.1)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (np.zeros((1, 3, 1)), "do not fit"),
        (np.zeros((1, 2, 0)), "at least one relation"),
        (np.full((1, 2, 1), 1.5), "from 0 to 1"),
        (np.full((1, 2, 1), -0.1), "from 0 to 1"),
    ],
)
def test_probabilities_that_do_not_fit(probabilities, message):
    with pytest.raises(ShapeError, match=message):
        refine(np.zeros((1, 2)), probabilities, strength=0.1, threshold=0.1)


@pytest.mark.parametrize(
    ("strength", "threshold"), [(-0.1, 0.1), (math.nan, 0.1), (math.inf, 0.1), (0.1, -1), (0.1, math.nan)]
)
def test_settings_out_of_range(strength, threshold):
    with pytest.raises(SettingError):
        refine(np.zeros((1, 2)), np.zeros((1, 2, 1)), strength=strength, threshold=threshold)


def test_similarities_must_be_a_matrix():
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        top_difference(np.zeros(2))
