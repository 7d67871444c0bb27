"""The commands of the guide to other programs, one after the other, on an article."""

from __future__ import annotations

import json

import pytest

from tests.support.program import run

pytestmark = pytest.mark.slow


def test_rows_of_others(docs, tmp_path):
    run("corpus", "build", "folder", "--source", "docs/", "--output", "corpus.jsonl")
    run("corpus", "convert", "corpus.jsonl", "shard.jsonl", "--to", "mmc4", "--links", "default")
    row = json.loads((tmp_path / "shard.jsonl").read_text())
    matched = [info["matched_text_index"] for info in row["image_info"]]
    assert row["text_list"][matched[1]] in ("A cat sleeps on the roof of the depot.", "Nobody wakes it.")
    run("corpus", "convert", "shard.jsonl", "again.jsonl", "--to", "mmc4", "--links", "no-such", status=1)
    assert not (tmp_path / "again.jsonl").exists()
