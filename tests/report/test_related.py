from __future__ import annotations

import json
import re
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from iconotext.corpus.relations import CLUE
from iconotext.report.as_html import reading_page
from iconotext.report.as_json import json_object
from iconotext.report.as_markdown import markdown
from iconotext.report.as_parquet import write_parquet
from iconotext.report.related import LABELS, likely_relations, related_data

SAID = {"Visible": 0.5, "Story": 0.875, "Meta": 0.4999, "Expansion": 0.99}


def related(made):
    first, *rest = made.links
    return replace(made, links=(replace(first, relations=SAID), *rest))


def test_every_relation_of_clue_has_a_label_and_no_other():
    assert tuple(LABELS) == CLUE


def test_likely_ones_of_clue_the_likeliest_first(linked):
    found = likely_relations(related(linked).links[0])
    assert [(relation.name, p) for relation, p in found] == [("Story", 0.875), ("Visible", 0.5)]
    assert likely_relations(linked.links[0]) == []


def test_json_has_all_of_them_where_there_are_any(linked):
    first, second, _ = json_object(related(linked))["links"]
    assert first["relations"] == SAID
    assert "relations" not in second


def test_parquet_has_them_as_a_map(linked, tmp_path):
    write_parquet([related(linked)], tmp_path / "a.parquet")
    first, second, *_ = pq.read_table(tmp_path / "a.parquet")["relations"].to_pylist()
    assert dict(first) == pytest.approx(SAID)
    assert second is None


def test_markdown_names_the_likely_ones(linked):
    assert "(90 %; the story behind it, says what it shows)" in markdown(related(linked)).replace("\u00a0", " ")


def test_a_page_has_labels_and_meanings_for_its_script_and_nothing_without_relations(linked):
    page = reading_page(related(linked))
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert data["related"] == [[[3, 88], [0, 50]], [], []]
    assert data["relations"][3] == [
        "the story behind it",
        "the text gives the story or the circumstances behind the image",
    ]
    assert related_data(linked) == {}
    assert '"related"' not in reading_page(linked)
