from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.split import connected, grouped


def test_things_hang_together_over_others():
    assert len(set(connected(["ab", "c", "bd", "", "dc", "e", ""]))) == 4
    assert grouped(connected(["ab", "c", "bd", "", "dc", "e", ""])) == [[0, 1, 2, 4], [3], [5], [6]]
    assert connected([]) == []
    assert grouped([]) == []


def test_a_long_chain_is_no_trouble():
    assert len(set(connected((i, i + 1) for i in range(50_000)))) == 1
    assert len(set(connected((i, i + 1) for i in reversed(range(50_000))))) == 1


@settings(deadline=None)
@given(st.lists(st.sets(st.integers(0, 20), max_size=3), max_size=25))
def test_groups_are_those_that_spreading_finds(keys):
    def reached(start):
        """Everything that can be walked to from one thing."""
        found, more = set(), {start}
        while more:
            found |= more
            more = {j for i in more for j in range(len(keys)) if keys[i] & keys[j]} - found
        return found

    groups = connected(keys)
    for i in range(len(keys)):
        assert {j for j, group in enumerate(groups) if group == groups[i]} == reached(i)
        assert groups[i] in reached(i)
    together = grouped(groups)
    assert sorted(number for group in together for number in group) == list(range(len(keys)))
    assert [group[0] for group in together] == sorted(group[0] for group in together)
    assert all(group == sorted(group) for group in together)
