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
    grouped,
    krippendorff_alpha,
    permutation_p,
    resampled_counts,
)


def test_resampled_counts_are_draws_with_replacement():
    apart = grouped([(n + 1,) for n in range(7)])
    counts = np.concatenate(list(resampled_counts(apart, 3000, 1)))
    assert counts.shape == (3000, 7)
    assert (counts.sum(1) == 7).all()
    assert abs(counts.mean() - 1) < 1e-9
    assert abs(counts.var(0).mean() - (1 - 1 / 7)) < 0.03  # of a multinomial
    np.testing.assert_array_equal(counts, np.concatenate(list(resampled_counts(apart, 3000, 1))))


def test_documents_that_share_something_are_drawn_together():
    # 0 and 2 share a picture, 2 and 3 a text.
    found = grouped([(5,), (6, -1), (5, -2), (7, -2), *((n,) for n in range(10, 50))])
    assert (found.of[:5].tolist(), found.drawn) == ([0, 1, 0, 0, 2], 42)
    (counts,) = resampled_counts(found, 100, 0)
    assert (counts[:, 0] == counts[:, 2]).all()
    assert (counts[:, 2] == counts[:, 3]).all()
    assert (counts[:, 0] != counts[:, 1]).any()


def test_where_nothing_is_shared_the_draws_are_those_of_single_documents():
    random = np.random.default_rng(4)
    values, ones = random.random((30, 1)), np.ones((30, 1))
    apart = grouped([(n + 1, -n - 1) for n in range(30)])
    np.testing.assert_array_equal(bootstrap_intervals(values, ones, apart), bootstrap_intervals(values, ones))
    differences = values[:, 0] - 0.4
    assert permutation_p(differences, apart) == permutation_p(differences)


def test_copies_of_documents_say_no_more_than_one_of_each():
    values, ones = np.random.default_rng(5).random((40, 1)), np.ones((40, 1))
    fivefold = grouped([(n % 40 + 1,) for n in range(200)])
    once = bootstrap_intervals(values, ones)
    assert bootstrap_intervals(np.tile(values, (5, 1)), np.tile(ones, (5, 1)), fivefold) == pytest.approx(once)
    differences = values[:, 0] - 0.4
    assert permutation_p(np.tile(differences, 5), fivefold) == permutation_p(differences)


def test_a_text_that_all_documents_have_does_not_join_them():
    found = grouped([(n // 2 + 1, -1) for n in range(40)])
    assert (found.of.tolist(), found.drawn) == ([n // 2 for n in range(40)], 20)


def test_where_all_hangs_together_as_many_are_drawn_as_without_repeated_pictures():
    # 300 pictures of which each document has ten, dealt out five times: no group of documents is free of the others.
    random = np.random.default_rng(6)
    pictures = np.concatenate([random.permutation(300).reshape(-1, 10) for _ in range(5)])
    found = grouped((pictures + 1).tolist())
    assert (len(found.of), found.drawn) == (150, 30)
    effects = random.normal(size=(400, 300))  # a document is as good as its pictures
    means = [of[pictures].mean() for of in effects]
    low, high = bootstrap_intervals(effects[0][pictures].mean(1)[:, None], np.ones((150, 1)), found)[0]
    assert (high - low) / 3.92 == pytest.approx(np.std(means), rel=0.25)
    p = permutation_p(effects[0][pictures].mean(1) + 0.12, found)
    assert 10 * permutation_p(effects[0][pictures].mean(1) + 0.12) < p < 0.5


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
