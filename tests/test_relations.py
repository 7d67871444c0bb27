from __future__ import annotations

import pytest

from iconotext.errors import SettingError
from iconotext.relations import CITE, RELATIONS, find_relation, relation_name, short_name


def test_the_published_relations_are_there_once_each():
    assert len({relation.name for relation in RELATIONS}) == len({relation.short for relation in RELATIONS}) == 13
    assert [relation.question for relation in RELATIONS if relation.name in CITE] == [f"q{n}" for n in range(2, 9)]


def test_a_relation_is_found_by_its_name_its_short_word_and_its_question():
    assert [find_relation(name).name for name in ("story", "STORY ", "q7", "result", "temporal I>T")] == [
        "Story", "Story", "Temporal i>t", "Temporal i>t", "Temporal i>t",
    ]  # fmt: skip
    with pytest.raises(SettingError, match=r"friendship: not among the relations: visible \(Visible\)"):
        find_relation("friendship")


def test_names_of_ones_own_are_found_among_those_that_are_known():
    known = ["Weather", "Temporal i>t"]
    assert [relation_name(name, known) for name in ("weather", "result", "Q7", "temporal i>t")] == [
        "Weather", "Temporal i>t", "Temporal i>t", "Temporal i>t",
    ]  # fmt: skip
    with pytest.raises(SettingError, match=r"story: not among the relations: Weather, result \(Temporal i>t\)"):
        relation_name("story", known)
    with pytest.raises(SettingError, match="relations: none"):
        relation_name("story", [])


def test_short_words():
    assert (short_name("Subjective"), short_name("Weather")) == ("reaction", "Weather")
