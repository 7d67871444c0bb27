"""The commands of the guide to other programs, one after the other, on an article."""

from __future__ import annotations

import json

import pytest

from tests.support.program import run

pytestmark = pytest.mark.slow


def test_label_studio_and_back(docs, tmp_path):
    said = run("link", "docs/", "--to", "label-studio", "--output", "tasks.json").stderr
    assert "the labelling interface of the project: tasks.xml" in said
    assert (tmp_path / "tasks.xml").read_text().startswith("<View>")
    again = run("link", "docs/", "--to", "label-studio", "--output", "tasks.json", status=1).stderr
    assert "tasks.json exists already" in again
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    for task in tasks:  # people agree with everything
        task["annotations"] = [{"result": task["predictions"][0]["result"], "was_cancelled": False}]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    run("corpus", "build", "label-studio", "--source", "export.json", "--images", ".", "--output", "gold.jsonl")
    gold = json.loads((tmp_path / "gold.jsonl").read_text())
    assert gold["images"] == ["docs/one.png", "docs/two.png"]  # without the one that is not there
    said_of = [gold["sentences"][sentence] for sentence, image in gold["links"] if image == 1]
    assert "A cat sleeps on the roof of the depot." in said_of
    measured = json.loads(
        run("evaluate", "default", "gold.jsonl", "--evidence", "picture,caption,layout,reference", "--json").stdout
    )
    assert measured["auc"] > 0.5
    said = run("link", "docs/", "--to", "label-studio").stdout
    assert len(json.loads(said)) == 1


def test_rows_of_others(docs, tmp_path):
    run("corpus", "build", "folder", "--source", "docs/", "--output", "corpus.jsonl")
    run("corpus", "convert", "corpus.jsonl", "shard.jsonl", "--to", "mmc4", "--links", "default")
    row = json.loads((tmp_path / "shard.jsonl").read_text())
    matched = [info["matched_text_index"] for info in row["image_info"]]
    assert row["text_list"][matched[1]] in ("A cat sleeps on the roof of the depot.", "Nobody wakes it.")
    run("corpus", "convert", "shard.jsonl", "again.jsonl", "--to", "mmc4", "--links", "no-such", status=1)
    assert not (tmp_path / "again.jsonl").exists()
