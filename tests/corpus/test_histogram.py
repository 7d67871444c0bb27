from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from iconotext.corpus.stats import Bin, bins


def test_by_hand():
    assert bins({}, 10) == []
    assert bins({10: 25_000}, 10) == [Bin(10, 10, 25_000)]
    assert bins({1: 2, 3: 1}, 10) == [Bin(1, 1, 2), Bin(2, 2, 0), Bin(3, 3, 1)]
    assert [each.label for each in bins({3: 1, 24: 1}, 4)] == ["0–9", "10–19", "20–29"]


def test_a_long_tail_shares_a_bin():
    found = bins({1: 500, 2: 490, 3: 9, 700: 1}, 10)
    assert [(each.label, each.count) for each in found] == [("1", 500), ("2", 490), ("3+", 10)]
    assert found[-1].high is None


@given(st.dictionaries(st.integers(0, 3000), st.integers(0, 500), max_size=30), st.integers(2, 40))
def test_every_document_is_in_the_bin_of_its_size(histogram, at_most):
    found = bins(histogram, at_most)
    assert len(found) <= at_most
    assert sum(each.count for each in found) == sum(histogram.values())
    widths = {each.high - each.low + 1 for each in found if each.high is not None}
    assert len(widths) <= 1
    for before, after in pairwise(found):
        assert before.high is not None
        assert before.high + 1 == after.low
    for each in found:
        inside = [n for size, n in histogram.items() if size >= each.low and (each.high is None or size <= each.high)]
        assert each.count == sum(inside)
