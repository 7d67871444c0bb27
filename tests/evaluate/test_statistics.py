"""Intervals, tests and agreement, against sums by hand and other implementations."""

from __future__ import annotations

from itertools import product

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import ShapeError
from iconotext.evaluate.statistics import (
    bootstrap_intervals,
    krippendorff_alpha,
    permutation_p,
    resampled_counts,
)


def test_resampled_counts_are_draws_with_replacement():
    counts = np.concatenate(list(resampled_counts(7, 3000, 1)))
    assert counts.shape == (3000, 7)
    assert (counts.sum(1) == 7).all()
    assert abs(counts.mean() - 1) < 1e-9
    assert abs(counts.var(0).mean() - (1 - 1 / 7)) < 0.03  # of a multinomial
    np.testing.assert_array_equal(counts, np.concatenate(list(resampled_counts(7, 3000, 1))))


def test_intervals_agree_with_a_plain_loop():
    random = np.random.default_rng(0)
    totals, weights = random.random((30, 2)), random.integers(1, 5, (30, 2)).astype(float)
    found = bootstrap_intervals(totals, weights, resamplings=4000)
    other = np.random.default_rng(9)
    ratios = []
    for _ in range(4000):
        drawn = [other.integers(30) for _ in range(30)]
        ratios.append([sum(totals[i, c] for i in drawn) / sum(weights[i, c] for i in drawn) for c in (0, 1)])
    np.testing.assert_allclose(found, np.quantile(ratios, [0.025, 0.975], axis=0).T, atol=0.012)


def test_intervals_refuse_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"\(0, 1\)"):
        bootstrap_intervals(np.zeros((0, 1)), np.zeros((0, 1)))
    with pytest.raises(ShapeError, match=r"\(2, 1\)"):
        bootstrap_intervals(np.zeros((2, 1)), np.ones((3, 1)))


def test_few_documents_are_done_exactly():
    # 3 documents, all better: of the 8 ways to swap, the one seen and its mirror are as far from 0.
    assert permutation_p(np.array([0.1, 0.2, 0.3])) == 2 / 8
    assert permutation_p(np.array([0.1, -0.1])) == 1
    assert permutation_p(np.zeros(20)) == 1


def test_exact_values_agree_with_a_loop():
    random = np.random.default_rng(0)
    for n in (1, 4, 7):
        d = random.normal(0.3, 1, n)
        sums = [abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in product((-1, 1), repeat=n)]
        assert permutation_p(d) == pytest.approx(np.mean([s >= abs(d.sum()) - 1e-12 for s in sums]))


def test_random_swaps_come_near_the_exact_value():
    d = np.random.default_rng(1).normal(0.25, 1, 14)  # one more than is done exactly
    bits = (np.arange(2**14)[:, None] >> np.arange(14)) & 1
    exact = np.mean(np.abs((2 * bits - 1) @ d) >= abs(d.sum()) - 1e-12)
    assert permutation_p(d) == pytest.approx(exact, abs=0.02)
    assert permutation_p(np.ones(40)) == pytest.approx(1 / 10_001)  # never 0


def test_alpha_by_hand():
    # Three units of two answers: aa, ab, bb. Of the 6 pairs of answers within units 2 differ: observed 2 / 6.
    # Of the 6 * 5 pairs of all answers 3 * 3 * 2 differ: expected 18 / 30. Alpha = 1 - (2 / 6) / (18 / 30) = 4 / 9.
    assert krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"], ["a"]]) == pytest.approx(4 / 9)


@given(st.lists(st.lists(st.sampled_from([0, 1, 2, None]), min_size=4, max_size=4), min_size=2, max_size=12))
def test_alpha_as_another_implementation_has_it(table):
    ours = krippendorff_alpha([[answer for answer in unit if answer is not None] for unit in table])
    paired = [unit for unit in table if sum(answer is not None for answer in unit) > 1]
    if len({answer for unit in paired for answer in unit} - {None}) < 2:
        assert ours is None
    else:
        data = np.array([[np.nan if a is None else a for a in unit] for unit in table], float).T
        theirs = krippendorff.alpha(data, level_of_measurement="nominal", value_domain=[0, 1, 2])
        assert ours == pytest.approx(theirs)
