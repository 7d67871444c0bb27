"""Krippendorff's alpha, against sums by hand and another implementation."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.evaluate.statistics import krippendorff_alpha


def test_alpha_by_hand():
    # Three units of two answers: aa, ab, bb. Of the 6 pairs of answers within units 2 differ: observed 2 / 6.
    # Of the 6 * 5 pairs of all answers 3 * 3 * 2 differ: expected 18 / 30. Alpha = 1 - (2 / 6) / (18 / 30) = 4 / 9.
    assert krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"], ["a"]]) == pytest.approx(4 / 9)


def test_alpha_at_its_ends():
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]]) == 1
    assert krippendorff_alpha([["a", "b"], ["b", "a"]]) == pytest.approx(1 - (4 / 4) / (8 / 12))
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([["a"], ["b"]]) is None
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None  # chance would agree, too


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
