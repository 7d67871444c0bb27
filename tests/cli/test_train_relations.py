from __future__ import annotations

import json
import re

import pytest

from tests.support import program


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


def run(*arguments, status=0):
    small = [f"--set=relations.{each}" for each in ("folds=2", "buckets=256")]
    return program.run("train", "relations", *arguments, *small, status=status)


def test_a_relation_model_is_trained_once_and_its_figures_are_told(tmp_path, corpus):
    result = run("--corpus", corpus, "--output", tmp_path / "model")
    assert result.stdout.startswith("Subjective: average precision ")
    assert result.stdout.endswith(
        "(chance 0.50), 24 pairs\ntrained on 24 labelled pairs, 0 of validation and 0 of test splits\n"
    )
    assert "fold 2" in result.stderr
    files = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "model").iterdir()}
    assert set(files) == {"recipe.toml", "weights.safetensors", "metrics.json"}
    again = run("--corpus", corpus, "--output", tmp_path / "model")
    assert again.stdout == result.stdout
    assert "is trained already" in again.stderr
    assert {file.name: file.stat().st_mtime_ns for file in (tmp_path / "model").iterdir()} == files


def test_pairs_of_other_splits_are_told(tmp_path, corpus):
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    splits = ["train", "train", "train", "validation", "test", "test", "test", None]
    corpus.write_text("".join(json.dumps(row | {"split": splits[n % 8]}) + "\n" for n, row in enumerate(rows)))
    result = run("--corpus", corpus, "--output", tmp_path / "all")
    assert result.stdout.endswith("trained on 24 labelled pairs, 3 of validation and 9 of test splits\n")


def test_labelled_pictures_are_told(tmp_path, corpus, picture):
    for number in range(12):
        picture(f"{number}.jpg", seed=number % 2, size=(40, 40))
    result = run("--corpus", corpus, "--output", tmp_path / "model", "--set", "relations.picture_labels=10")
    told = (
        r"Subjective: with its picture (\d\.\d\d), without (\d\.\d\d), 12 pairs: the picture (counts|does not count)\n"
    )
    found = re.search(told, result.stdout)
    assert found, result.stdout
    assert (float(found[1]) >= float(found[2])) == (found[3] == "counts")


def test_it_starts_from_no_other_model(tmp_path, corpus):
    result = run("--corpus", corpus, "--output", tmp_path / "model", "--init", "default", status=2)
    assert "--init: a relation model is always trained from its recipe alone" in result.stderr
    assert not (tmp_path / "model").exists()
