from __future__ import annotations

import csv
import json

import pytest

from iconotext.papers.studies import next_pair, vote
from tests.cli.coherent import coherent_model
from tests.cli.test_evaluate import run
from tests.cli.test_evaluate_retrieval import model, pairs

__all__ = ["model", "pairs"]


@pytest.fixture
def study(pairs, model, tmp_path):
    other = coherent_model(tmp_path / "agnostic", seed=1)
    path = tmp_path / "study.sqlite"
    arguments = ("analyze", "study", model, other, pairs, "--relation", "story", "--relation", "Visible")
    run(*arguments, "--count", 3, "--output", path)
    return path


def test_from_two_models_to_the_table(study, tmp_path):
    table = run("analyze", "votes", study)
    assert "0 of " in table
    for rater in ("ann", "ben", "cyd"):
        while (shown := next_pair(study, rater)) is not None:
            vote(study, shown.number, rater, "same" if shown.identical else "a")
    found = json.loads(run("analyze", "votes", study, "--json", "--csv", tmp_path / "votes.csv"))
    assert found["first"] == str(tmp_path / "model")
    assert found["votes"] == found["wanted"] == 3 * found["rows"][-1]["pairs"]
    rows = {row["relation"]: row for row in found["rows"]}
    assert set(rows) == {"Story", "Visible", "all"}
    assert rows["Story"]["pairs"] == rows["Visible"]["pairs"] == 3
    for row in rows.values():
        assert sum(row["counts"].values()) == row["pairs"]
        assert row["counts"]["both good"] == row["identical"]
        assert row["preference"]["smallest_effect"] > 0
    with (tmp_path / "votes.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == found["votes"]
    table = run("analyze", "votes", study)
    assert "No majority" in table
    assert "by majority of 3" in " ".join(table.split())
    assert "exists" in run("analyze", "votes", study, "--csv", tmp_path / "votes.csv", status=1)
    run("analyze", "votes", study, "--csv", tmp_path / "votes.csv", "--force")


def test_equal_models_find_identical_pictures(pairs, model, tmp_path):
    path = tmp_path / "s.sqlite"
    run("analyze", "study", model, model, pairs, "--split", "test", "--output", path, "--raters", "1")
    while (shown := next_pair(path, "ann")) is not None:
        assert shown.identical
        assert shown.a.is_file()
        vote(path, shown.number, "ann", "same")
    (row,) = json.loads(run("analyze", "votes", path, "--json"))["rows"]
    assert row["shares"]["both good"] == 1
    assert row["preference"]["t"] is None


def test_known_errors_are_one_line(pairs, model, study, tmp_path):
    assert "may hold votes" in run("analyze", "study", model, model, pairs, "--output", study, status=1)
    new = tmp_path / "new.sqlite"
    output = run("analyze", "study", model, model, pairs, "--relation", "love", "--output", new, status=1)
    assert "love: not among the relations that can be told here: visible (Visible), story (Story)" in output
    output = run("analyze", "study", model, model, pairs, "--relation", "meta", "--output", new, status=1)
    assert "meta: not among the relations that can be told here" in output
    assert not new.exists()
    assert "no such study" in run("analyze", "votes", new, status=1)
    assert "power" in run("analyze", "votes", study, "--power", "2", status=1)
    assert "0 < significance < power < 1" in run("analyze", "votes", study, "--significance", "0.99", status=1)
