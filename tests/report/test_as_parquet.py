from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from iconotext import save
from iconotext.errors import OutputError
from iconotext.report.as_parquet import COLUMNS, rows, write_parquet
from tests.support.linked import explained, make_linked

NAMES = [column.name for column in COLUMNS]


def test_one_row_per_link_and_none_lost(linked, tmp_path):
    bare = make_linked(["alone"], [], [])
    write_parquet(iter([linked, bare]), tmp_path / "new" / "links.parquet")
    table = pq.read_table(tmp_path / "new" / "links.parquet")
    assert table.column_names == NAMES
    found = table.to_pylist()
    assert [(r["image"], r["sentence"]) for r in found] == [(0, 1), (0, 2), (1, 3), (2, None), (None, None)]
    assert found[0]["text"] == "A cat sleeps."
    assert found[0]["confidence"] == pytest.approx(0.9)
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
    with pytest.raises(OutputError, match="force=True"):
        write_parquet([linked], tmp_path / "a.parquet")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]


def test_rows_have_only_known_columns(linked):
    assert all(set(row) <= set(NAMES) for row in rows(linked))


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
