from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iconotext.relations import CLUE
from iconotext.report.as_json import json_object
from iconotext.report.as_markdown import markdown
from iconotext.report.as_parquet import write_parquet
from iconotext.report.reading_page import reading_page
from iconotext.report.relations import LABELS, TYPICAL, relation_data, shown_relations
from tests.support.linked import link

SAID = {"Visible": 0.75, "Story": 0.9375, "Meta": 0.4999, "Expansion": 0.99}


def related(made):
    first, *rest = made.links
    return replace(made, links=(replace(first, relations=SAID), *rest))


def test_every_relation_of_clue_has_a_label_and_no_other():
    assert tuple(LABELS) == tuple(TYPICAL) == CLUE


def told(*relations):
    links = [replace(link(0, n, 0.5), relations=each) for n, each in enumerate(relations)]
    return [[relation.name for relation, _ in found] for found in shown_relations(links).values()]


def test_those_of_clue_far_above_the_usual_the_likeliest_first(linked):
    found = shown_relations(related(linked).links)
    assert [(relation.name, p) for relation, p in found[1, 0]] == [("Story", 0.9375), ("Visible", 0.75)]
    assert found[2, 0] == found[3, 1] == []


def test_what_nearly_every_link_has_is_said_of_none():
    assert told(*[{"Story": 0.8}] * 40) == [[]] * 40
    assert told(*[{"Visible": 0.9}] * 40) == [[]] * 40  # captions say what pictures show
    assert told(*[{"Story": 0.8}] * 40, {"Story": 0.97})[-1] == ["Story"]
    assert told(*[{"Visible": 0.1}] * 40, {"Visible": 0.51})[-1] == ["Visible"]


def test_documents_with_few_links_start_from_what_is_harmless():
    assert told({"Story": 0.8}) == [[]]
    assert told({"Visible": 0.8}) == [["Visible"]]
    assert told({"Action": 0.4}) == [[]]  # far above the usual, and still less likely than not
    assert told({"Story": 1.0, "Visible": 0.0}) == [["Story"]]
    assert told({}) == told(None) == [[]]


def test_json_has_all_of_them_where_there_are_any(linked):
    first, second, _ = json_object(related(linked))["links"]
    assert first["relations"] == SAID
    assert "relations" not in second


def test_parquet_has_them_as_a_map(linked, tmp_path):
    write_parquet([related(linked)], tmp_path / "a.parquet")
    first, second, *_ = pq.read_table(tmp_path / "a.parquet")["relations"].to_pylist()
    assert dict(first) == pytest.approx(SAID)
    assert second is None


def test_markdown_names_those_that_are_shown(linked):
    assert "(90 %, its paragraph 95 %; the story behind it, says what it shows)" in markdown(
        related(linked), Path()
    ).replace("\u00a0", " ")


def test_a_page_has_labels_and_meanings_for_its_script_and_nothing_without_relations(linked):
    page = reading_page(related(linked))
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert data["related"] == [[[3, 0.9375], [0, 0.75]], [], []]
    assert data["relations"][3] == [
        "the story behind it",
        "the text gives the story or the circumstances behind the image",
    ]
    assert relation_data(linked) == {}
    assert '"related"' not in reading_page(linked)
