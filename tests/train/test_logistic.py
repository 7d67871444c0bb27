from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from iconotext.train.relations.logistic import fit_logistic


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
        weights, bias = fit_logistic(rows, y, strength)
        np.testing.assert_allclose(weights, oracle.coef_[0], atol=2e-3)
        assert bias == pytest.approx(oracle.intercept_[0], abs=2e-3)


def test_rows_without_an_answer_have_no_say(drawn):
    x, y = drawn
    half = np.where(np.arange(300) < 150, y, np.nan).astype(np.float32)
    weights, bias = fit_logistic(x, half, 1.0)
    again, again_bias = fit_logistic(x[:150], y[:150], 1.0)
    np.testing.assert_allclose(weights, again, atol=1e-5)
    assert bias == pytest.approx(again_bias, abs=1e-5)
    nothing, zero = fit_logistic(x, np.full(300, np.nan, np.float32), 1.0)
    assert not nothing.any()
    assert zero == 0


def test_known_log_odds_are_not_learned_again(drawn):
    x, y = drawn
    weights, bias = fit_logistic(x, y, 1e4)
    more, more_bias = fit_logistic(x, y, 1e4, known=x @ weights + np.float32(bias))
    assert np.abs(more).max() < 0.01
    assert abs(more_bias) < 0.01
