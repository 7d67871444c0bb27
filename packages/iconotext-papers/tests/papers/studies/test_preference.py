from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import SettingError
from iconotext_papers.published import published_cells, published_facts
from iconotext_papers.studies.results import pairs_needed, preference, smallest_effect


def test_by_hand():
    found = preference([1] * 6 + [-1] * 2 + [0] * 2)
    # mean 0.4, sum of squares 8: variance (8 - 10 × 0.16) / 9
    deviation = math.sqrt((8 - 1.6) / 9)
    assert found.difference == pytest.approx(0.4)
    assert found.effect == pytest.approx(0.4 / deviation)
    assert found.t == pytest.approx(0.4 / deviation * math.sqrt(10))
    # of 8 pairs with a preference, 6 or more the one way or the other
    assert found.p_sign == pytest.approx(2 * (28 + 8 + 1) / 256)
    assert found.pairs == 10


@pytest.mark.slow
@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=2, max_size=30))
@settings(deadline=None)  # the first call imports scipy
def test_agrees_with_the_paired_t_test_of_both_preferences(scores):
    from scipy.stats import ttest_rel

    found = preference(scores)
    if len(set(scores)) == 1:
        assert (found.t, found.p, found.effect) == (None, None, None)
        return
    expected = ttest_rel([float(s == 1) for s in scores], [float(s == -1) for s in scores])
    assert found.t == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)
    turned = preference([-s for s in scores])
    assert turned.t == pytest.approx(-found.t, abs=1e-9)
    assert turned.p_sign == found.p_sign


def test_few_or_equal_pairs_have_no_t_test():
    assert preference([]) is None
    one = preference([1])
    assert (one.t, one.p_sign, one.smallest_effect, one.difference) == (None, 1, None, 1)
    same = preference([0, 0, 0])
    assert (same.t, same.p_sign, same.difference) == (None, 1, 0)
    all_better = preference([1] * 10)
    assert all_better.t is None  # no deviation; the sign test says what there is to say
    assert all_better.p_sign == pytest.approx(2 / 1024)


@pytest.mark.parametrize("pairs", [5, 10, 50, 452])
def test_the_smallest_effect_agrees_with_solving_for_it(pairs):
    from statsmodels.stats.power import TTestPower

    expected = TTestPower().solve_power(nobs=pairs, alpha=0.05, power=0.95)
    assert smallest_effect(pairs) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("power", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("pairs", [2, 3, 30])
def test_the_smallest_effect_has_the_power_that_was_asked_for(pairs, power):
    from scipy.integrate import quad
    from scipy.stats import chi2, norm, t

    shift, critical = smallest_effect(pairs, power=power) * math.sqrt(pairs), t.isf(0.025, pairs - 1)

    def significant(u):  # given the deviation in the sample at its quantile u
        limit = critical * math.sqrt(chi2.ppf(u, pairs - 1) / (pairs - 1))
        return norm.sf(limit - shift) + norm.cdf(-limit - shift)

    assert quad(significant, 0, 1)[0] == pytest.approx(power, abs=1e-6)


def test_one_pair_detects_nothing_and_many_what_the_normal_distribution_does():
    from scipy.stats import norm

    assert (smallest_effect(0), smallest_effect(1)) == (None, None)
    assert smallest_effect(1_000_000) == pytest.approx((norm.isf(0.025) + norm.isf(0.05)) / 1000, rel=1e-5)


def test_the_published_power_analysis_fits_452_pairs():
    effect = published_facts("alikhani2021")["smallest_effect"]
    assert pairs_needed(effect) == 452
    assert smallest_effect(452) <= effect < smallest_effect(451)


@given(st.floats(0.05, 3))
@settings(max_examples=15, deadline=None)
def test_pairs_needed_is_the_smallest_number(effect):
    needed = pairs_needed(effect)
    assert smallest_effect(needed) <= effect
    assert needed == 2 or smallest_effect(needed - 1) > effect


def test_the_published_t_does_not_fit_the_published_shares():
    [(better, worse, _, _)] = published_cells("alikhani2021/6")["Visible"].values()
    mean = (better - worse) / 100
    deviation = math.sqrt((better + worse) / 100 - mean**2)
    assert 16_000 < (published_facts("alikhani2021")["lowest_t"] * deviation / mean) ** 2 < 17_000


@pytest.mark.parametrize(("power", "significance"), [(0.05, 0.05), (1, 0.05), (0.9, 0), (math.nan, 0.05)])
def test_settings_out_of_range(power, significance):
    with pytest.raises(SettingError, match="0 < significance < power < 1"):
        smallest_effect(10, power=power, significance=significance)


def test_no_effect_needs_no_study():
    for effect in (0, -1, math.nan):
        with pytest.raises(SettingError):
            pairs_needed(effect)
