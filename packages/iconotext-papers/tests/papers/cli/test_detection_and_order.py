"""``iconotext papers analyze detection`` and ``order``."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.program import printed as run


@pytest.mark.slow
def test_object_detection_prints_both_choices_of_k(corpus):
    found = json.loads(run("papers", "analyze", "detection", corpus, "--split", "test", "--json"))
    assert 1 <= found["k"] <= 20
    assert 1 <= found["chosen_on_validation"]["k"] <= 20
    assert found["chosen_on_validation"]["auc"] <= found["auc"]
    # K is never chosen on what it is reported on
    for arguments in (["--split", "validation"], []):
        found = json.loads(run("papers", "analyze", "detection", corpus, "--json", *arguments))
        assert found["chosen_on_validation"] is None
    table = run("papers", "analyze", "detection", corpus, "--split", "test")
    assert "best on these documents" in table
    assert "chosen on validation" in table


def test_object_detection_with_word_vectors(corpus, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("dog 1 0\ntram 0 1\nred 0 1\nstreetcar 0 1\n")
    arguments = ("--word-vectors", vectors, "--word-dim", 2, "--json")
    found = json.loads(run("papers", "analyze", "detection", corpus, *arguments))
    assert found["auc"] is not None
    assert "vectors of 2 numbers" in run("papers", "analyze", "detection", corpus, *arguments[:2], status=1)


@pytest.mark.slow
def test_pictures_are_put_back(tmp_path, picture):
    for number in range(3):
        picture(f"{number}.png", seed=number)
    texts = ["Dogs sleep.", "A red tram stops.", "Taxes rise.", "Bread is baked."]
    row = {
        "id": "d",
        "sentences": texts,
        "blocks": [0, 1, 2, 3],
        "images": ["0.png", "1.png", "2.png"],
        "captions": ["A dog asleep.", "A tram, red.", "Fresh bread."],
        "positions": [1, 2, 4],
    }
    (tmp_path / "c.jsonl").write_text(
        json.dumps(row) + "\n" + json.dumps({**row, "id": "none", "positions": [1, 1, 1]})
    )
    table = run("papers", "analyze", "order", "no-training", tmp_path / "c.jsonl")
    assert re.search(r"most shared caption words +100\.0 \(100\.0 to 100\.0\)", table)
    assert "1 document with 3 pictures" in table
    assert "its pictures stand at one place: 1 (none)" in table
    found = json.loads(run("papers", "analyze", "order", "no-training", tmp_path / "c.jsonl", "--json"))
    assert (found["protocol"], found["documents"], list(found["undefined"])) == ("reorder", 1, ["none"])
    assert set(found["rules"]) == {"random", "words", "text", "image", "both"}
    alone = run("papers", "analyze", "order", "no-training", tmp_path / "c.jsonl", "--evidence", "caption")
    assert "image only" not in alone
