from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from iconotext.cli.app import app


@pytest.fixture
def corpus(tmp_path):
    rows = [
        {"id": f"p{n}", "sentences": [f"a {'lovely' if n % 2 else 'plain'} thing {n}"], "images": [f"{n}.jpg"]}
        | {"relations": {"Subjective": bool(n % 2)}}
        for n in range(24)
    ]
    path = tmp_path / "clue.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*arguments):
    small = [f"--set=relations.{each}" for each in ("members=1", "epochs=1", "hidden=4", "folds=2", "buckets=256")]
    return CliRunner().invoke(app, ["train", "relations", *map(str, arguments), *small], env={"COLUMNS": "200"})


def test_a_relation_model_is_trained_and_its_figures_are_told(tmp_path, corpus, monkeypatch):
    monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path / "cache"))
    result = run("--corpus", corpus, "--output", tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Subjective: average precision ")
    assert result.stdout.endswith("(chance 0.50), 24 pairs\n")
    assert "fold 2" in result.stderr
    assert {file.name for file in (tmp_path / "model").iterdir()} == {
        "recipe.toml",
        "weights.safetensors",
        "metrics.json",
    }


def test_it_starts_from_no_other_model(tmp_path, corpus):
    result = run("--corpus", corpus, "--output", tmp_path / "model", "--init", "default")
    assert result.exit_code == 2
    assert "--init: a relation model starts from nothing but its recipe" in result.stderr
    assert not (tmp_path / "model").exists()


def test_what_is_wrong_is_told_in_one_line(tmp_path, corpus):
    result = run("--corpus", corpus, "--output", tmp_path / "model", "--set", "relations.layers=3")
    assert result.exit_code == 1
    assert "relations.layers: extra inputs are not permitted" in result.stderr
    corpus.write_text(json.dumps({"id": "d", "sentences": ["a"], "images": []}) + "\n")
    result = run("--corpus", corpus, "--output", tmp_path / "model")
    assert result.exit_code == 1
    assert "no document has relations" in result.stderr
