"""``iconotext papers analyze detection``."""

from __future__ import annotations

import json

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
