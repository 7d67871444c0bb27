from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from iconotext.train.relations.fit import fit_logistic, fit_standardised


@pytest.fixture
def drawn():
    chance = np.random.default_rng(0)
    x = chance.normal(size=(300, 4)).astype(np.float32)
    y = (x @ [1.0, -2.0, 0.0, 0.5] + chance.logistic(size=300) > 0.3).astype(np.float32)
    return x, y


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
def test_it_finds_what_scikit_learn_finds(drawn, strength):
    x, y = drawn
    oracle = LogisticRegression(C=strength, tol=1e-8).fit(x, y)
    for rows in (x, csr_array(x)):
        weights, (bias,) = fit_logistic(rows, y[:, None], strength)
        np.testing.assert_allclose(weights[:, 0], oracle.coef_[0], atol=2e-3)
        assert bias == pytest.approx(oracle.intercept_[0], abs=2e-3)


def test_rows_without_an_answer_have_no_say(drawn):
    x, y = drawn
    half = np.where(np.arange(300) < 150, y, np.nan).astype(np.float32)
    both = np.stack([half, y], 1)  # answered by other rows, and by all
    weights, bias = fit_logistic(x, both, 1.0)
    for column, rows in enumerate((150, 300)):
        again, again_bias = fit_logistic(x[:rows], y[:rows, None], 1.0)
        np.testing.assert_allclose(weights[:, [column]], again, atol=1e-3)
        assert bias[column] == pytest.approx(again_bias[0], abs=1e-3)
    nothing, zero = fit_logistic(x, np.full((300, 1), np.nan, np.float32), 1.0)
    assert not nothing.any()
    assert zero.tolist() == [0]


def test_columns_are_fitted_each_for_itself(drawn):
    x, y = drawn
    weights, bias = fit_logistic(x, np.stack([y, 1 - y], 1), 1.0)
    np.testing.assert_allclose(weights[:, 0], -weights[:, 1], atol=1e-3)
    assert bias[0] == pytest.approx(-bias[1], abs=1e-3)


def test_weights_on_standardised_columns_are_for_the_rows_as_they_are(drawn):
    x, y = drawn
    weights, bias = fit_logistic(x, y[:, None], 1.0)
    moved = x * np.float32([1, 10, 0.1, 1]) + np.float32([0, 5, 1, -3])
    found, shift = fit_standardised(moved, y[:, None], 1.0)
    np.testing.assert_allclose(moved @ found + shift, x @ weights + bias, atol=0.05)


def test_known_log_odds_are_not_learned_again(drawn):
    x, y = drawn
    weights, bias = fit_logistic(x, y[:, None], 1e4)
    more, more_bias = fit_logistic(x, y[:, None], 1e4, known=x @ weights + bias)
    assert np.abs(more).max() < 0.01
    assert abs(more_bias[0]) < 0.01
