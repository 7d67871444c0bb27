from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from iconotext.errors import ShapeError
from iconotext.evaluate.metrics import (
    _resampled,
    _steps,
    average_precision,
    average_precision_interval,
    relation_precisions,
)


@st.composite
def predictions(draw):
    n = draw(st.integers(1, 12))
    scores = draw(arrays(np.float32, n, elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])))
    return scores, draw(arrays(np.bool_, n))


def test_by_hand():
    gold = np.array([True, False, True, False])
    # found at places 1 and 3: (1/1 + 2/3) / 2
    assert average_precision(np.array([0.9, 0.8, 0.7, 0.6]), gold) == pytest.approx(5 / 6)
    # the first three are one step: 2 of 3
    assert average_precision(np.array([0.9, 0.9, 0.9, 0.6]), gold) == pytest.approx(2 / 3)
    assert average_precision(np.zeros(4), gold) == 0.5  # equal scores: the positive rate


def test_is_undefined_without_positives():
    assert average_precision(np.array([0.1, 0.2]), np.zeros(2, bool)) is None
    assert average_precision(np.zeros(0), np.zeros(0, bool)) is None
    assert average_precision_interval(np.zeros(3), np.zeros(3, bool)) is None
    assert average_precision(np.zeros(2), np.ones(2, bool)) == 1


@given(predictions())
@settings(deadline=None)  # the first call imports scikit-learn
def test_agrees_with_scikit_learn_on_ties_too(case):
    from sklearn.metrics import average_precision_score

    scores, gold = case
    found = average_precision(scores, gold)
    if found is None:
        assert not gold.any()
    else:
        assert found == pytest.approx(average_precision_score(gold, scores), abs=1e-12)


@given(predictions(), st.integers(0, 1000))
@settings(deadline=None)
def test_each_resampling_agrees_with_scikit_learn_with_weights(case, seed):
    from sklearn.metrics import average_precision_score

    scores, gold = case
    counts = np.random.default_rng(seed).multinomial(len(gold), np.full(len(gold), 1 / len(gold)), 3).astype(float)
    order, ends = _steps(scores, gold)
    found = _resampled(counts[:, order], gold[order], ends)
    for value, weights in zip(found, counts, strict=True):
        if not weights[gold].sum():
            assert math.isnan(value)
        else:
            drawn = np.repeat(np.arange(len(gold)), weights.astype(int))
            assert value == pytest.approx(average_precision_score(gold[drawn], scores[drawn]), abs=1e-12)


def test_the_interval_contains_the_figure_and_narrows_with_more_pairs():
    random = np.random.default_rng(0)
    widths = []
    for n in (60, 2000):
        gold = random.random(n) < 0.3
        scores = gold + random.normal(size=n)
        found = average_precision_interval(scores, gold, resamplings=500)
        assert found is not None
        low, high = found
        assert low < average_precision(scores, gold) < high
        assert average_precision_interval(scores, gold, resamplings=500) == found
        widths.append(high - low)
    assert widths[1] < widths[0] / 3


def test_a_single_positive_among_few_has_an_interval_of_the_draws_that_have_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert average_precision_interval(np.array([0.9, 0.1]), np.array([True, False]), resamplings=200) == (1.0, 1.0)


def test_relations_leave_out_what_nobody_answered():
    nan = math.nan
    labels = np.array([[1, 0, nan], [0, 0, nan], [nan, 0, nan], [1, 0, nan]])
    scores = np.array([[0.9, 0.5, 0.1], [0.8, 0.1, 0.1], [0.95, 0.2, 0.1], [0.1, 0.3, 0.1]])
    story, meta, nothing = relation_precisions(scores, labels, ["Story", "Meta", "Visible"], resamplings=100)
    assert (story.relation, story.pairs, story.unanswered) == ("Story", 3, 1)
    assert story.average_precision == pytest.approx((1 + 2 / 3) / 2)
    assert story.positive_rate == pytest.approx(2 / 3)
    assert (meta.average_precision, meta.interval, meta.positive_rate) == (None, None, 0.0)
    assert (nothing.average_precision, nothing.positive_rate, nothing.pairs, nothing.unanswered) == (None, None, 0, 4)
    assert story.as_dict()["interval"] == story.interval
    assert nothing.as_dict()["interval"] is None


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        (np.zeros((2, 1)), np.zeros((2, 2)), "must both be"),
        (np.zeros((2, 2)), np.zeros((2, 2)), "must both be"),
        (np.zeros((2, 1)), np.full((2, 1), 0.5), "labels must be"),
        (np.full((2, 1), math.nan), np.zeros((2, 1)), "score 0 is not a number"),
    ],
)
def test_what_does_not_fit_is_refused(scores, labels, message):
    with pytest.raises(ShapeError, match=message):
        relation_precisions(scores, labels, ["Story"])
    with pytest.raises(ShapeError, match="the same"):
        average_precision(np.zeros(2), np.zeros(3, bool))
