from __future__ import annotations

import json
import re

import pytest

from iconotext.encoders.coherence_relations import SETTINGS_FILE
from tests.support.coherent import coherent_model
from tests.support.program import error_line
from tests.support.program import printed as run


@pytest.mark.slow
def test_retrieval_of_a_model_without_relations(pairs):
    found = json.loads(run("evaluate", "no-training", pairs, "--pool", 8, "--json", "--draws", 4))
    assert (found["pairs"], found["images"], found["pool"], found["draws"]) == (12, 11, 8, 4)
    assert found["left_out"] == [{"id": "gone", "reason": found["left_out"][0]["reason"]}]
    assert "not found" in found["left_out"][0]["reason"]
    assert 1 <= found["median_rank"] <= 8
    assert 0 <= found["r@1"] <= found["r@5"] <= found["r@10"] == 1
    assert set(found["deviations"]) == {"median_rank", "mean_rank", "r@1", "r@5", "r@10"}
    assert set(found["relations"]) == {"Visible", "Story"}
    assert found["relations"]["Story"]["queries"] <= 3
    assert (found["refined"], found["average_precision"]) == (None, None)
    assert found == json.loads(run("evaluate", "no-training", pairs, "--pool", 8, "--json", "--draws", 4))
    other = json.loads(run("evaluate", "no-training", pairs, "--pool", 8, "--json", "--draws", 4, "--seed", 1))
    assert other["mean_rank"] != found["mean_rank"]


@pytest.mark.slow
def test_a_table_for_people(pairs):
    table = run("evaluate", "no-training", pairs, "--pool", 8)
    assert re.search(r"Median rank\s+R@1\s+R@5\s+R@10", table)
    assert "12 texts and 11 pictures; 8 pictures in a pool; mean ± standard deviation over 10 random pools" in table
    assert "Left out, because its picture is not found: 1 (gone)" in table
    assert "one pool of all pictures" in run("evaluate", "no-training", pairs, "--pool", 11)


@pytest.mark.slow
def test_a_coherence_aware_model_is_refined_and_its_relations_judged(pairs, model, monkeypatch):
    monkeypatch.chdir(model.parent)  # a short name, so that no cell of the table is folded
    (model / SETTINGS_FILE).write_text('{"strength": 0.5, "threshold": 2}')
    arguments = ("evaluate", model.name, pairs, "--pool", 8, "--json")
    found = json.loads(run(*arguments))
    assert (found["refined"]["strength"], found["refined"]["threshold"]) == (0.5, 2)
    assert set(found["refined"]["relations"]) == {"Visible", "Story"}
    precision = found["average_precision"]
    assert set(precision) == {"Visible", "Story"}
    assert precision["Story"]["unanswered"] == 3
    low, high = precision["Visible"]["interval"]
    assert 0 <= low <= precision["Visible"]["average_precision"] <= high <= 1
    assert precision["Visible"]["positive_rate"] == 0.5
    table = run(*arguments[:-1])
    assert "refined (λ = 0.5, T = 2)" in table
    assert "Average precision" in table


@pytest.mark.slow
def test_relations_that_nobody_labelled_are_not_judged(pairs, tmp_path):
    model = coherent_model(tmp_path / "other", relations=("Temporal i<t", "Story"))
    found = json.loads(run("evaluate", model, pairs, "--pool", 8, "--json"))
    assert set(found["average_precision"]) == {"Story"}
    model = coherent_model(tmp_path / "none", relations=("Temporal i<t",))
    assert json.loads(run("evaluate", model, pairs, "--pool", 8, "--json"))["average_precision"] is None


@pytest.mark.slow
def test_the_settings_in_the_models_folder_are_taken(pairs, model):
    arguments = ("evaluate", model, pairs, "--pool", 8, "--json")
    assert json.loads(run(*arguments))["refined"] is None
    (model / SETTINGS_FILE).write_text('{"strength": 0.3, "threshold": 0.2}')
    found = json.loads(run(*arguments))["refined"]
    assert (found["strength"], found["threshold"]) == (0.3, 0.2)
    (model / SETTINGS_FILE).write_text('{"strength": 0, "threshold": 0}')
    assert json.loads(run(*arguments))["refined"] is None
    (model / SETTINGS_FILE).write_text("no")
    assert SETTINGS_FILE in run(*arguments, status=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-training", "--pool", "500"], r"500 images cannot be drawn from 11.*--pool 11"),
        (["no-training", "--pool", "5", "--evidence", "caption"], "--evidence is for links"),
        (["no-training", "--pool", "5", "--compare", "random"], "--compare is for links"),
        (["no-training", "--pool", "5", "--results", "r.parquet"], "--results is for links"),
        (["no-training", "--pool", "5", "--text", "minilm"], "--text is for links"),
        (["random", "--pool", "5"], "by chance, R@K"),
    ],
)
def test_known_errors_are_one_line(pairs, arguments, message):
    assert re.search(message, error_line("evaluate", arguments[0], pairs, *arguments[1:]))


def test_a_pool_below_one_is_wrong_usage(pairs):
    run("evaluate", "no-training", pairs, "--pool", 0, status=2)


def test_without_any_pair_it_says_why(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a", "sentences": ["A.", "B."], "images": ["x.png"]}\n')
    assert "'a' is left out, because the gold links are unknown" in run(
        "evaluate", "no-training", path, "--pool", 5, status=1
    )
