"""Records of results, and the tables of the pages that are made from them."""

from __future__ import annotations

import copy
import importlib.util
import json
import platform
from pathlib import Path
from typing import Any

import pytest

from iconotext_papers.tables.comparison import model_folder
from iconotext_papers.tables.runner import reproduce
from papers.support.tables import SMALL, Seen
from tests.support.training import write_pairs

PACKAGE = Path(__file__).parents[3]
ROOT = PACKAGE.parents[1]
RECORDS = sorted(path for home in (PACKAGE, ROOT) for path in (home / "docs/results/records").glob("*.json"))
FIELDS = ["command", "table", "dataset", "set", "corpus", "seeds", "version", "date", "encoders", "recipe", "rows"]


@pytest.fixture
def records(tmp_path, monkeypatch) -> Any:
    """The script, with a folder of records of its own."""
    specification = importlib.util.spec_from_file_location("records", ROOT / "scripts/records.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "RECORDS", tmp_path)
    return module


def write(tmp_path, **changed):
    record = {
        "command": "iconotext reproduce 2 --corpus a.jsonl --set dim=8", "table": "2", "dataset": "MSCOCO",
        "set": ["dim=8"], "corpus": {"name": "a.jsonl", "sha256": "12"}, "seeds": 1, "version": "0.1.0 (abc)",
        "date": "2026-01-01", "encoders": {}, "recipe": None,
        "rows": [
            {"row": "DC", "key": "dense", "figures": {"AUC": {"value": 95.85, "interval": [95, 97]}}, "seconds": 90},
            {"row": "TK", "key": "top-k", "figures": {"AUC": 9.04, "AUC − DC": {"value": -1.0, "interval": [-2, 3]}}},
        ],
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(record | changed))


def of_today(records, key="dense", **changed):
    """The recipe in a record of a row of table 2 with dim=8."""
    recipe = records._today({"table": "2", "dataset": None, "set": ["dim=8"], "recipe": {}, "rows": []}, {"key": key})
    return records.flat_recipe(recipe) | changed


def test_a_page_shows_command_table_and_origin(records, tmp_path):
    write(tmp_path)
    assert records.shown("a").splitlines() == [
        "    iconotext reproduce 2 --corpus a.jsonl --set dim=8",
        "",
        "| row | AUC | published | minutes |",
        "| --- | --- | --- | --- |",
        "| DC | 95.8 (95.0–97.0) | 98.9 / 93.6 / 80.1 | 1.5 |",
        "| TK | 9.0 | 98.9 / 93.9 / 80.1 | – |",
        "",
        "Record: [a](records/a.json), written by hand from an earlier page, which did not note the version of the program.",
    ]
    assert records.shown("a", ["AUC − DC"]).splitlines() == [
        "| row | AUC − DC | program |",
        "| --- | --- | --- |",
        "| TK | −1.0 (−2.0 to +3.0) | of an earlier program |",
    ]
    with pytest.raises(SystemExit, match="has no column p@9"):
        records.shown("a", ["p@9"])


def test_a_row_whose_recipe_is_another_one_today_says_so(records, tmp_path):
    rows = [{"row": "DC", "key": "dense", "figures": {"AUC": 1.0}, "recipe": {}}]
    write(tmp_path, recipe=of_today(records), rows=rows)
    assert "measured on 2026-01-01 by the program 0.1.0 (abc); corpus" in records.shown("a")
    write(tmp_path, recipe=of_today(records, **{"training.factor": 7.0}), rows=rows)
    assert "by the program of 0.1.0 (abc), not run again since;" in records.shown("a")
    found = records.read("a")
    assert records.changes(found, found["rows"][0]) == ["training.factor"]


def test_a_setting_that_is_new_changes_nothing_with_its_default_and_much_otherwise(records, tmp_path):
    then = of_today(records)
    for key, changes in (
        ("training.precision", []),
        ("training.patience", []),
        ("dim", ["dim"]),
    ):
        old = {name: value for name, value in then.items() if name != key}
        found = {"table": "2", "dataset": None, "set": ["dim=8"], "encoders": {}, "recipe": old, "rows": []}
        assert records.changes(found, {"key": "dense", "recipe": {}}) == changes, key
    gone = {"table": "2", "dataset": None, "set": ["dim=8"], "encoders": {}, "recipe": then | {"a.b": 3}, "rows": []}
    assert records.changes(gone, {"key": "dense", "recipe": {}}) == ["a.b"]
    assert records.changes(gone, {"key": "no-such-row", "recipe": {}}) == ["row"]


def test_a_row_of_another_encoder_says_so(records):
    then = of_today(records)
    found = {"table": "2", "dataset": None, "set": ["dim=8"], "recipe": then, "rows": []}
    encoders = {"efficientnet-lite0": "00", "minilm": "00"}
    row = {"key": "dense", "recipe": {}}
    assert records.changes(found | {"encoders": encoders}, row) == ["efficientnet-lite0"]  # words are learned anew
    assert records.changes(found | {"encoders": encoders}, {"key": "object-detection"}) == list(encoders)
    assert records.changes(found | {"encoders": encoders}, {"key": "random"}) == []
    encoders = {"efficientnet-lite0": records._encoder("efficientnet-lite0")}
    assert records.changes(found | {"encoders": encoders}, row) == []


def test_a_record_of_a_benchmark_says_of_which_program_and_encoder_it_is(records, tmp_path):
    rows = [{"row": "at the end", "key": None, "figures": {"placed": {"value": 1.25, "interval": [1, 2]}}}]
    same = {"minilm": records._encoder("minilm")}
    write(tmp_path, table=None, recipe={}, corpus=None, encoders=same, rows=rows, command="python b.py", head="rule")
    assert records.shown("a").splitlines() == [
        "    python b.py",
        "",
        "| rule | placed |",
        "| --- | --- |",
        "| at the end | 1.2 (1.0–2.0) |",
        "",
        "Record: [a](records/a.json); measured on 2026-01-01 by the program 0.1.0 (abc).",
    ]
    write(tmp_path, table=None, recipe={}, corpus=None, encoders={"minilm": "00"}, rows=rows)
    assert "by the program of 0.1.0 (abc), not run again since." in records.shown("a")


def test_a_page_of_a_record_says_what_was_measured(records, tmp_path):
    rows = [{"row": "nearest", "key": None, "figures": {"image@1": "27.8 (26.6–29.2)"}}]
    write(tmp_path, table=None, corpus=None, rows=rows, command="python b.py", title="Beside rules", about=["Figures."])
    assert records.page("a").splitlines()[:8] == [
        "# Beside rules", "", "Figures.", "", "    python b.py", "", "| row | image@1 |", "| --- | --- |",
    ]  # fmt: skip
    assert "Record: [a](a.json), written by hand" in records.page("a")


def test_an_analysis_of_several_records_is_one_table(records, tmp_path):
    hard = {"documents": 1200, "image_spread": 0.1, "text_spread": 0.02, "spread": 0.125, "content": 0.3,
            "coefficients": {"image": 0.5, "text": -0.021}}  # fmt: skip
    write(tmp_path, analyses={"correlation": {"a": {"DC, AP": 0.887, "TK, AP": None}}, "difficulty": {"a": hard}})
    assert records.analysis("correlation", ["a"]).endswith("(records/a.json) | – | 0.89 | – | DC, AP: 0.89 |\n")
    row = "| [MSCOCO](records/a.json) | 1,200 | 10.0 | 2.0 | 12.5 | 30.0 | – | +50 | −2 |\n"
    assert records.analysis("difficulty", ["a", "a"]).endswith(f"--- |\n{row}{row}")
    shares = {"before": 0.2, "before_interval": [0.1, 0.3], "after": 0.1, "after_interval": [0.0, 0.2]}
    write(tmp_path, analyses={"explained": shares | {"difference": -0.1, "interval": [-0.2, 0.1], "published": {}}})
    assert "| 20.0 (10.0–30.0) | 10.0 (0.0–20.0) | −10.0 (−20.0 to +10.0) | – |" in records.analysis("explained", ["a"])


def test_a_row_that_was_run_again_is_held_to_its_spread(records):
    then = {"rows": [{"row": "DC", "key": "dense", "figures": {"AUC": {"value": 80.0, "sd": 0.2}, "K": 3}},
                     {"row": "AP", "key": "assignment", "figures": {"AUC": {"value": 70.0}}}]}  # fmt: skip
    again = copy.deepcopy(then)
    assert records.departures(then, again) == []
    again["rows"][0]["figures"]["AUC"]["value"] = 80.39
    again["rows"][1]["figures"]["AUC"]["value"] = 70.02
    assert records.departures(then, again) == ["AP, AUC: 70.02 instead of 70.0 ± 0.01"]


def test_the_digest_of_a_corpus_is_that_of_its_documents(records, corpus, tmp_path):
    moved, other = tmp_path / "moved.jsonl", tmp_path / "other.jsonl"
    moved.write_text(corpus.read_text().replace('"0-0"', '"deep/er/0-0"'))
    other.write_text(corpus.read_text().replace("thing1 ", "thing2 "))
    assert records.corpus_digest(moved) == records.corpus_digest(corpus) != records.corpus_digest(other)
    assert moved.read_text() != corpus.read_text() != other.read_text()


@pytest.mark.slow
@pytest.mark.training
def test_a_record_is_made_of_a_finished_folder(records, corpus, tmp_path, in_process):
    calls = {"overrides": SMALL, "only": ["random", "dense", "assignment-at-most"], "dataset": "MSCOCO", "seeds": 2}
    in_process.add("assignment-at-most-seed1")
    done = reproduce("2", corpus, tmp_path / "out", watch=Seen(), **calls)
    found = records.record(tmp_path / "out", built="iconotext corpus build captions")
    assert [field for field in found if field != "machine"] == FIELDS
    assert found["machine"]["python"] == platform.python_version()
    assert found["machine"]["processor"]
    assert found["machine"]["torch"]
    assert found["command"].startswith(
        "iconotext papers reproduce 2 --corpus corpus.jsonl --dataset MSCOCO --seeds 2 --set feat"
    )
    assert found["command"].endswith("--only random --only dense --only assignment-at-most")
    assert [row["key"] for row in found["rows"]] == ["random", "dense", "assignment-at-most"]
    dense = found["rows"][1]
    assert dense["figures"]["AUC"]["value"] == round(100 * done.results["rows"][1]["auc"], 5)
    assert dense["seeds"] == 2
    assert found["rows"][2]["seeds"] == 1
    assert "failed: out of luck" in found["rows"][2]["note"]
    assert found["recipe"] | dense["recipe"] == records.flat_recipe(records.load_recipe(
        model_folder(tmp_path / "out", "dense") / "recipe.toml"))  # fmt: skip
    assert all(records.changes(found, row) == [] for row in found["rows"])
    (tmp_path / "b.json").write_text(records.as_json(found))
    assert records.read("b") == found
    assert str(tmp_path) not in (tmp_path / "b.json").read_text()
    assert "| DC " in records.shown("b")
    assert "assignment-at-most-seed1: failed: out of luck" in records.shown("b")


@pytest.mark.slow
def test_a_record_of_retrieval(records, tmp_path, in_process):
    only = ["cmca", "cmcm", "cmcm-story", "cmcm-normalised"]
    small = ["features.image=features.npy", "dim=8", "text.word_dim=4", "training.epochs=1", "training.batch=8"]
    pairs = write_pairs(tmp_path)
    done = reproduce("alikhani2021/5", pairs, tmp_path / "out", watch=Seen(), overrides=small, only=only, seeds=2)
    assert not done.failed
    found = records.record(tmp_path / "out")
    assert [row["key"] for row in found["rows"]] == ["cmca", "cmcm", "cmcm-story", "cmcm-normalised"]
    assert all(records.changes(found, row) == [] for row in found["rows"])
    ranks = [each["retrieval"]["median_rank"] for each in done.results["rows"]["CMCM"].values()]
    assert found["rows"][1]["figures"]["MedR"]["value"] == round(sum(ranks) / 2, 5)
    assert {"MedR − CMCA", "R@10: refined − plain", "AP of Story"} <= set(found["rows"][1]["figures"])
    (tmp_path / "b.json").write_text(records.as_json(found))
    assert "| CMCM Story " in records.shown("b")
    assert "| 17.7 ± 1.7 / 13.0 / 30.7 / 41.5 |" in records.shown("b")


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_of_the_repository_is_whole(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [field for field in found if field not in ("head", "title", "about", "machine", "analyses")] == FIELDS
    assert ("about" in found) == (path.parents[2] == ROOT / "docs")
    assert all(row["row"] and (row["figures"] or row["note"]) for row in found["rows"])
    if found["recipe"] is not None:
        assert all("recipe" in row for row in found["rows"] if "seconds" in row)
