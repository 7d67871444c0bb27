"""The tables of Alikhani 2021, on a small corpus of pairs."""

from __future__ import annotations

import json

import pytest

from iconotext.errors import CorpusError, SettingError
from iconotext.papers.published import published_cells
from iconotext.papers.tables.retrieval import data_set
from iconotext.papers.tables.retrieval_sections import differences_to
from iconotext.papers.tables.rows import find_table, table_rows
from iconotext.papers.tables.runner import reproduce
from iconotext.relations import CITE, CLUE
from tests.papers.tables.test_hessel2019 import Seen, contents, in_process
from tests.train.coherent import write_pairs

SMALL = ["features.image=features.npy", "dim=8", "text.word_dim=6", "training.epochs=2", "training.batch=24"]


__all__ = ["in_process"]


def coherence_rows(name, relations, overrides=()):
    return [row for row in table_rows(find_table(name), overrides, relations) if row.needed]


def made(table, corpus, folder, **more):
    return reproduce(table, corpus, folder, **{"watch": Seen(), "overrides": SMALL, **more})


# The rows


@pytest.mark.parametrize(("relations", "published"), [(CITE, 4), (CLUE, 5)])
def test_every_published_row_has_its_own_recipe(relations, published):
    rows = coherence_rows("alikhani2021/5", relations)
    assert [row.name for row in rows] == list(published_cells(f"alikhani2021/{published}"))
    assert len({row.key for row in rows}) == len(rows)


def test_what_the_rows_are_made_of():
    rows = {row.key: row.recipe for row in coherence_rows("alikhani2021/5", CLUE)}
    attention = {key: recipe.text.attention for key, recipe in rows.items()}
    assert [key for key, there in attention.items() if not there] == ["base", "cmcm-noattn"]
    assert [key for key, recipe in rows.items() if not recipe.objective.coherence] == ["base", "cmca"]
    assert {recipe.objective.coherence for key, recipe in rows.items() if key.startswith("cmcm")} == {0.1}
    assert rows["cmcm"].objective.relations == []
    assert rows["cmcm-reaction"].objective.relations == ["Subjective"]
    for recipe in rows.values():
        assert recipe.objective.margin == 0.3
        assert recipe.objective.negatives == "hardest"
        assert recipe.training.learning_rate == 1e-4
        assert recipe.training.choose == "median-rank"
        assert recipe.image.batch_norm
        assert recipe.dim == 1024


def test_tables_7_and_8_need_fewer_rows():
    assert [row.key for row in coherence_rows("alikhani2021/7", CLUE)] == ["cmca", "cmcm"]
    assert [row.name for row in coherence_rows("alikhani2021/8", CLUE)] == list(published_cells("alikhani2021/8"))


def test_the_data_set_is_told_by_its_relations():
    assert data_set(CITE[:2]) == "CITE++"
    assert data_set([*CLUE, "Mine"]) == "Clue"
    assert data_set(["Mine"]) is None
    assert data_set([*CITE, *CLUE]) is None


def test_what_the_rows_differ_in_cannot_be_set():
    with pytest.raises(SettingError, match="each row"):
        coherence_rows("alikhani2021/5", CLUE, ["objective.coherence=0.2"])
    rows = coherence_rows("alikhani2021/5", CLUE, ["cmcm*:objective.coherence=0.2"])
    assert {row.recipe.objective.coherence for row in rows} == {0, 0.2}


# The whole


@pytest.mark.slow
def test_a_table_is_filled_and_nothing_is_done_twice(tmp_path, in_process):
    corpus = write_pairs(tmp_path)
    in_process.add("cmcm-story")
    folder = tmp_path / "out"
    done = made("alikhani2021/5", corpus, folder, seeds=2)
    assert done.failed == {"cmcm-story": "out of luck"}
    results = json.loads((folder / "results.json").read_text())
    assert results == done.results
    assert results["dataset"] == "Clue"
    assert list(results["rows"]) == ["Base", "CMCA", "CMCM-NoAttn", "CMCM", "CMCM Visible", "CMCM Action",
                                     "CMCM Story", "CMCM Meta"]  # fmt: skip
    assert list(results["rows"]["CMCM"]) == ["0", "1"]
    assert list(results["rows"]["CMCM Story"]) == ["1"]
    assert "refined" not in results["rows"]["Base"]["0"]
    assert results["rows"]["CMCM"]["0"]["pool"] == 32  # fewer than 500 pictures
    assert list(results["rows"]["CMCM Visible"]["0"]["precision"]) == ["Visible"]
    table = (folder / "table.md").read_text()
    for title in ("Table 5 of Alikhani et al. 2021", "Figure 5", "Table 7: by relation", "Table 8: telling relations"):
        assert title in table
    published = next(line for line in table.splitlines() if line.startswith("| CMCM Story |"))
    assert published.endswith("| 17.7 ± 1.7 | 13.0 | 30.7 | 41.5 |")
    page = (folder / "table.html").read_text()
    assert '<img src="refinement.svg"' in page
    assert (folder / "refinement.svg").stat().st_size > 1000
    assert (folder / "models" / "cmcm" / "refinement.json").is_file()

    in_process.clear()
    before = {path: time for path, time in contents(folder / "models").items() if "cmcm-story/" not in path}
    again = made("alikhani2021/5", corpus, folder, seeds=2)
    assert not again.failed
    assert before.items() <= contents(folder / "models").items()
    assert set(again.results["rows"]["CMCM Story"]) == {"0", "1"}


@pytest.mark.slow
def test_tables_share_their_models(tmp_path, in_process):
    corpus = write_pairs(tmp_path)
    made("alikhani2021/7", corpus, tmp_path / "out")
    before = contents(tmp_path / "out" / "models")
    seen = Seen()
    made("alikhani2021/8", corpus, tmp_path / "out", watch=seen)
    assert "cmcm" not in [key for key, _ in seen.told]
    assert before.items() <= contents(tmp_path / "out" / "models").items()


@pytest.mark.slow
def test_another_order_of_rows_or_interruption_changes_no_figure(tmp_path, in_process):
    corpus = write_pairs(tmp_path)
    whole = made("alikhani2021/7", corpus, tmp_path / "whole")
    made("alikhani2021/7", corpus, tmp_path / "parts", only=["cmcm"])
    parts = made("alikhani2021/7", corpus, tmp_path / "parts")
    assert whole.results["rows"] == parts.results["rows"]
    assert whole.results["differences"] == parts.results["differences"]


def test_differences_are_paired_by_query_and_seed():
    def score(first, second):
        return {"queries": {"a": [first, 1.0], "b": [second, 0.5]}}

    scores = {"CMCA": {0: score(0.0, 1.0), 1: score(0.5, 0.5)}, "CMCM": {0: score(1.0, 1.0), 1: score(0.5, 1.0)},
              "Base": {7: score(0, 0)}}  # fmt: skip
    found = differences_to(scores, "CMCA")
    assert list(found) == ["CMCM"]  # no seed in common with Base
    assert found["CMCM"]["r@1"]["difference"] == pytest.approx(0.375)  # (1 + 0 + 0 + 0.5) / 4
    assert found["CMCM"]["r@10"]["difference"] == 0
    low, high = found["CMCM"]["r@1"]["interval"]
    assert 0 <= low <= 0.375 <= high <= 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"splits": False}, "need a corpus with splits"),
        ({"labels": False}, "has labels of relations"),
    ],
)
def test_a_corpus_that_cannot_fill_the_table_is_refused_at_once(tmp_path, more, said):
    corpus = write_pairs(tmp_path, **more)
    with pytest.raises(CorpusError, match=said):
        made("alikhani2021/5", corpus, tmp_path / "out")


def test_test_documents_must_be_pairs(tmp_path):
    corpus = write_pairs(tmp_path)
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    rows[4]["sentences"].append("another")
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CorpusError, match="test documents need one sentence and one image"):
        made("alikhani2021/5", corpus, tmp_path / "out")


def test_a_data_set_that_is_not_in_the_paper_is_refused(tmp_path):
    with pytest.raises(SettingError, match=r"has CITE\+\+, Clue"):
        made("alikhani2021/5", write_pairs(tmp_path), tmp_path / "out", dataset="MSCOCO")


@pytest.mark.slow
def test_a_model_that_was_trained_anew_is_measured_anew(tmp_path, in_process):
    corpus = write_pairs(tmp_path)
    made("alikhani2021/7", corpus, tmp_path / "out", only=["cmcm"])
    path = tmp_path / "out" / "results" / "cmcm.json"
    scored = json.loads(path.read_text())
    assert scored["draws"] == 1  # a pool of all pictures is drawn once
    path.write_text(json.dumps(scored | {"weights": "of another model", "pairs": 999}))
    again = made("alikhani2021/7", corpus, tmp_path / "out", only=["cmcm"])
    assert again.results["rows"]["CMCM"]["0"]["pairs"] == 32
    assert ", 1 draw, 1 seed" in (tmp_path / "out" / "table.md").read_text()


def test_a_setting_for_a_row_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(SettingError, match="no row is called nosuchrow"):
        made(
            "alikhani2021/7", write_pairs(tmp_path), tmp_path / "out", overrides=[*SMALL, "nosuchrow:training.epochs=3"]
        )
