"""Links, contexts and chunks as tables of Parquet and pandas."""

from __future__ import annotations

import sys
from dataclasses import replace

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from iconotext import save, to_pandas
from iconotext.errors import MissingPackageError, OutputError
from iconotext.report.as_excerpts import row
from iconotext.report.as_parquet import COLUMNS, rows, write_parquet
from iconotext.report.chunks import chunks
from iconotext.report.context import contexts
from iconotext.types import Image
from tests.support.linked import explained, link, linked_documents, make_linked

NAMES = [column.name for column in COLUMNS]


def test_one_row_per_link_and_none_lost(linked, tmp_path):
    bare = make_linked(["alone"], [], [])
    write_parquet(iter([linked, bare]), tmp_path / "new" / "links.parquet")
    table = pq.read_table(tmp_path / "new" / "links.parquet")
    assert table.column_names == NAMES
    found = table.to_pylist()
    assert [(r["image"], r["sentence"]) for r in found] == [(0, 1), (0, 2), (1, 3), (2, None), (None, None)]
    assert found[0]["text"] == "A cat sleeps."
    assert (found[0]["confidence"], found[0]["paragraph_confidence"]) == pytest.approx((0.9, 0.95))
    assert found[0]["evidence_layout"] == -1.25
    assert found[0]["evidence_caption"] is None
    assert found[3]["problem"] == "file not found"


def test_hostile_text_is_kept(hostile, tmp_path):
    text, made = hostile
    write_parquet([made], tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet")["text"][0].as_py() == text.replace("\ud800", "\ufffd")


def test_nothing_to_write_gives_an_empty_table(tmp_path):
    write_parquet([], tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 0


def test_an_existing_file_stays(linked, tmp_path):
    (tmp_path / "a.parquet").write_text("mine")
    with pytest.raises(OutputError, match="the option force"):
        write_parquet([linked], tmp_path / "a.parquet")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]


def test_the_page_of_a_pdf_is_a_column(linked):
    images = (replace(linked.document.images[0], page=7), *linked.document.images[1:])
    made = replace(linked, document=replace(linked.document, images=images))
    assert [row["page"] for row in rows(made)] == [7, 7, None, None]
    assert list(next(rows(made))) == NAMES


def test_explanations_have_columns_where_they_are_asked_for(linked, tmp_path):
    write_parquet([explained(linked), linked], tmp_path / "a.parquet", explained=True)
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.column_names == [*NAMES, "explanation_words", "explanation_regions"]
    first, plain = found.to_pylist()[0], found.to_pylist()[4]
    assert first["explanation_words"][1] == pytest.approx({"begin": 2, "end": 5, "weight": 0.1})
    assert first["explanation_regions"][0] == pytest.approx(
        {"left": 0, "top": 0, "right": 0.5, "bottom": 0.5, "weight": 0.3}
    )
    assert plain["explanation_words"] is None
    save(explained(linked), tmp_path / "b.parquet")
    assert "explanation_words" in pq.read_table(tmp_path / "b.parquet").column_names
    save(linked, tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet").column_names == NAMES


def test_a_table_has_the_columns_of_parquet(linked):
    table = to_pandas(linked)
    assert table["image_source"].tolist() == ["img/cat.jpg", "img/cat.jpg", "img/milk.jpg", "img/gone.jpg"]
    assert table["text"].tolist()[:3] == ["A cat sleeps.", "It dreams of mice.", "Milk"]
    assert table["confidence"].tolist()[:3] == [0.9, 0.4, 0.6]
    assert str(table["sentence"].dtype) == "Int32"
    assert table["sentence"].isna().tolist() == [False] * 3 + [True]
    assert len(to_pandas(explained(linked))["explanation_words"][0]) == 3
    assert to_pandas(make_linked([], [], []))["document"].tolist() == ["doc"]


def test_relations_are_names_and_probabilities_in_the_table():
    made = make_linked(["a"], [Image("a.png")], [replace(link(0, 0, 0.5), relations={"Story": 0.25})])
    assert to_pandas(made)["relations"].tolist() == [{"Story": 0.25}]


def test_without_pandas_it_says_what_to_install(linked, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"iconotext\[pandas\]"):
        to_pandas(linked)


def plain(value):
    return None if value is pd.NA or (isinstance(value, float) and value != value) else value


@given(linked=linked_documents())
@settings(max_examples=30)
@pytest.mark.parametrize("of", [contexts, chunks])
def test_a_row_for_each(linked, of):
    found = of(linked, 40)
    table = to_pandas(found)
    assert [{name: plain(value) for name, value in each.items()} for each in table.to_dict("records")] == [
        row(each) for each in found
    ]


def test_numbers_stay_whole(linked):
    table = to_pandas(contexts(linked))
    assert (str(table["page"].dtype), str(table["image"].dtype)) == ("Int64", "Int64")
    assert table["page"].isna().all()
    assert list(to_pandas([]).columns) == list(table.columns)
