from __future__ import annotations

import math
import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from iconotext.errors import ShapeError
from iconotext.evaluate.metrics import (
    _resampled,
    _steps,
    auc,
    average_precision,
    average_precision_interval,
    checked_scores,
    gold_matrix,
    image_hits,
    precision_at,
    relation_precisions,
)

# Few different values, so that ties are common.
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 5))


@st.composite
def matrices(draw, shapes=SHAPES):
    shape = draw(shapes)
    scores = draw(arrays(np.float32, shape, elements=st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0])))
    return scores, draw(arrays(np.bool_, shape))


def test_auc_by_hand():
    scores = np.array([[0.9, 0.1], [0.4, 0.6]])
    gold = np.array([[True, False], [True, False]])
    # pairs (gold, other): .9 beats both, .4 beats .1 but not .6
    assert auc(scores, gold) == 0.75
    assert auc(-scores, gold) == 0.25
    assert auc(np.array([[1.0, 1.0, 0.0]]), np.array([[True, False, False]])) == 0.75  # a tie counts half
    assert auc(np.zeros((3, 4)), np.eye(3, 4, dtype=bool)) == 0.5


def test_auc_is_undefined_without_one_of_the_two_kinds_of_cells():
    scores = np.arange(6.0).reshape(2, 3)
    assert auc(scores, np.zeros((2, 3), bool)) is None
    assert auc(scores, np.ones((2, 3), bool)) is None
    assert auc(np.zeros((0, 3)), np.zeros((0, 3), bool)) is None


@given(matrices())
def test_auc_agrees_with_counting_pairs(case):
    scores, gold = case
    pairs = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, is_gold in zip(scores.flat, gold.flat, strict=True)
        if is_gold
        for b, other in zip(scores.flat, gold.flat, strict=True)
        if not other
    ]
    assert auc(scores, gold) == (pytest.approx(np.mean(pairs), abs=1e-12) if pairs else None)


@given(matrices(st.tuples(st.integers(1, 2), st.integers(1, 3))), st.integers(1, 8))
def test_precision_agrees_with_the_mean_over_all_orders(case, count):
    scores, gold = case
    flat, true = scores.ravel(), gold.ravel()
    found = []
    for order in permutations(range(flat.size)):
        ranked = sorted(order, key=lambda i: -flat[i])  # stable: equal scores stay in this order
        found.append(np.mean([true[i] for i in ranked[:count]]))
    assert precision_at(scores, gold, count) == pytest.approx(np.mean(found), abs=1e-12)


def test_precision_by_hand():
    scores = np.array([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]])
    gold = np.array([[True, False, True], [False, False, True]])
    assert precision_at(scores, gold, 1) == 1
    assert precision_at(scores, gold, 5) == 2 / 5
    assert precision_at(scores, gold, 50) == 3 / 6  # there are only six cells
    assert precision_at(np.full((5, 4), 0.3), np.eye(5, 4) > 0, 5) == pytest.approx(4 / 20)  # ties at the cut


@given(matrices())
def test_image_hits_agree_with_a_loop(case):
    scores, gold = case
    hits, images = 0.0, 0
    for column in range(scores.shape[1]):
        true = {i for i in range(len(scores)) if gold[i, column]}
        if true:
            top = max(scores[i, column] for i in range(len(scores)))
            best = {i for i in range(len(scores)) if scores[i, column] == top}
            hits, images = hits + len(best & true) / len(best), images + 1
    found = image_hits(scores, gold)
    assert found[0] == pytest.approx(hits)
    assert found[1] == images


def test_what_is_no_matrix_or_no_number_is_refused():
    with pytest.raises(ShapeError, match=r"\(3,\)"):
        checked_scores(np.zeros(3))
    with pytest.raises(ShapeError, match="sentence 1 and image 0"):
        checked_scores(np.array([[0.0], [np.nan]]))
    for link in [(2, 0), (0, 2), (-1, 0)]:
        with pytest.raises(ShapeError, match="does not fit 2 sentences and 2 images"):
            gold_matrix((2, 2), [link])


def test_links_that_come_twice_count_once():
    assert gold_matrix((2, 1), [(1, 0), (1, 0)]).tolist() == [[False], [True]]


def test_infinite_scores_rank_like_others():
    scores = np.array([[-np.inf, 0.0, np.inf]])
    assert auc(scores, np.array([[False, False, True]])) == 1
    assert precision_at(scores, np.array([[True, False, False]]), 1) == 0


@st.composite
def predictions(draw):
    n = draw(st.integers(1, 12))
    scores = draw(arrays(np.float32, n, elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])))
    return scores, draw(arrays(np.bool_, n))


def test_average_precision_by_hand():
    gold = np.array([True, False, True, False])
    # found at places 1 and 3: (1/1 + 2/3) / 2
    assert average_precision(np.array([0.9, 0.8, 0.7, 0.6]), gold) == pytest.approx(5 / 6)
    # the first three are one step: 2 of 3
    assert average_precision(np.array([0.9, 0.9, 0.9, 0.6]), gold) == pytest.approx(2 / 3)
    assert average_precision(np.zeros(4), gold) == 0.5  # equal scores: the positive rate


def test_average_precision_is_undefined_without_positives():
    assert average_precision(np.array([0.1, 0.2]), np.zeros(2, bool)) is None
    assert average_precision(np.zeros(0), np.zeros(0, bool)) is None
    assert average_precision_interval(np.zeros(3), np.zeros(3, bool), np.arange(3)) is None
    assert average_precision(np.zeros(2), np.ones(2, bool)) == 1


@given(predictions())
@settings(deadline=None)  # the first call imports scikit-learn
def test_average_precision_agrees_with_scikit_learn_on_ties_too(case):
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
        found = average_precision_interval(scores, gold, np.arange(n), resamplings=500)
        assert found is not None
        low, high = found
        assert low < average_precision(scores, gold) < high
        assert average_precision_interval(scores, gold, np.arange(n), resamplings=500) == found
        widths.append(high - low)
    assert widths[1] < widths[0] / 3


def test_a_single_positive_among_few_has_an_interval_of_the_draws_that_have_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores, gold = np.array([0.9, 0.1]), np.array([True, False])
        assert average_precision_interval(scores, gold, np.arange(2), resamplings=200) == (1.0, 1.0)


def test_relations_leave_out_what_nobody_answered():
    nan = math.nan
    labels = np.array([[1, 0, nan], [0, 0, nan], [nan, 0, nan], [1, 0, nan]])
    scores = np.array([[0.9, 0.5, 0.1], [0.8, 0.1, 0.1], [0.95, 0.2, 0.1], [0.1, 0.3, 0.1]])
    story, meta, nothing = relation_precisions(
        scores, labels, ["Story", "Meta", "Visible"], np.arange(4), resamplings=100
    )
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
def test_probabilities_and_labels_that_do_not_fit_are_refused(scores, labels, message):
    with pytest.raises(ShapeError, match=message):
        relation_precisions(scores, labels, ["Story"], np.arange(2))
    with pytest.raises(ShapeError, match="the same"):
        average_precision(np.zeros(2), np.zeros(3, bool))
