from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError
from iconotext_papers.analyses.difficulty import explain, explained_by_spread, r2, spread


def slow_r2(target, features):
    """With the residuals of a fit, on rows that are written out."""
    design = np.column_stack([np.ones(len(features)), features])
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    total = ((target - target.mean()) ** 2).sum()
    return 0.0 if total < 1e-20 else 1 - ((target - fitted) ** 2).sum() / total


def test_by_hand():
    # A line through (0, 0), (1, 1), (2, 1), (3, 2): slope 0.6, residuals 0.1, −0.5 + ... R² = 0.9.
    target, features = np.array([0.0, 1.0, 1.0, 2.0]), np.array([[0.0], [1.0], [2.0], [3.0]])
    assert r2(target, features, np.ones((1, 4))) == pytest.approx([0.9])
    # Without the first document twice the third: the slope changes, the drawn rows count as often as drawn.
    counts = np.array([[0.0, 1.0, 2.0, 1.0]])
    assert r2(target, features, counts) == pytest.approx([slow_r2(target[[1, 2, 2, 3]], features[[1, 2, 2, 3]])])


@given(st.integers(3, 12), st.integers(0, 1000), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=60, deadline=None)
def test_every_draw_is_a_regression_of_its_own(documents, seed, offset, scale):
    rng = np.random.default_rng(seed)
    target = rng.random(documents)
    features = offset + scale * rng.random((documents, 2))
    counts = rng.multinomial(documents, np.full(documents, 1 / documents), 5).astype(float)
    for draw, found in zip(counts, r2(target, features, counts), strict=True):
        rows = np.repeat(np.arange(documents), draw.astype(int))
        assert 0 <= found <= 1
        if len(set(rows.tolist())) > 3:  # else the rows fit exactly
            assert found == pytest.approx(slow_r2(target[rows], features[rows]), abs=1e-5)


def test_where_nothing_varies_nothing_is_explained():
    features = np.arange(12.0).reshape(6, 2)
    assert r2(np.full(6, 0.7), features, np.ones((1, 6))) == [0]
    assert r2(np.arange(6.0), np.ones((6, 2)), np.ones((1, 6))) == pytest.approx([0])


def test_the_regression_is_that_of_difficulty():
    rng = np.random.default_rng(3)
    images, texts = [rng.normal(size=(3, 4)) for _ in range(30)], [rng.normal(size=(4, 5)) for _ in range(30)]
    aucs = rng.random(30).tolist()
    spreads = [(spread(image), spread(text)) for image, text in zip(images, texts, strict=True)]
    found = explained_by_spread({0: aucs}, {0: aucs}, spreads, [()] * 30, resamplings=200)
    assert found.before == pytest.approx(explain(aucs, images, texts, dimensions=2).spread.r2)
    assert found.after == found.before
    assert (found.difference, found.interval) == (0, (0, 0))  # the same draws for both
    assert found.before_interval[0] < found.before_interval[1]


def test_a_model_whose_auc_hangs_on_spread_less():
    rng = np.random.default_rng(0)
    spreads = rng.random((300, 2))
    trend, noise = spreads.sum(axis=1) / 4, rng.normal(size=300) / 10
    before = {seed: (0.2 + trend + noise).tolist() for seed in (0, 1)}
    after = {1: (0.4 + trend / 4 + noise).tolist(), 0: (0.5 + noise).tolist(), 9: noise.tolist()}
    found = explained_by_spread(before, after, spreads.tolist(), [()] * 300, resamplings=400)
    assert found.seeds == 2
    assert found.before > 0.4
    assert found.after == pytest.approx(np.mean([slow_r2(np.array(after[seed]), spreads) for seed in (0, 1)]), abs=1e-9)
    assert found.difference == pytest.approx(found.after - found.before)
    assert found.interval[0] < found.difference < found.interval[1] < 0
    assert found.documents == 300


def test_what_cannot_be_compared():
    few = [(0.1, 0.2)] * 4
    with pytest.raises(CorpusError, match="4 documents are too few"):
        explained_by_spread({0: [0.5] * 4}, {0: [0.5] * 4}, few, [()] * 4)
    with pytest.raises(CorpusError, match="no seed in common"):
        explained_by_spread({0: [0.5]}, {1: [0.5]}, [(0.1, 0.1)], [()])
