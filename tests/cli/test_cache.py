from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from iconotext.features import FeatureCache
from tests.support import program


@pytest.fixture
def filled() -> Path:
    cache = FeatureCache()
    rows = {b"%d" % n: {"text": np.zeros(25_000, np.float32)} for n in range(40)}
    cache.put(rows, backbone="an-encoder", kinds=["text"])
    cache.close()
    return Path(os.environ["ICONOTEXT_CACHE"]) / "features-2.sqlite"


def run(*arguments: str, status: int = 0) -> str:
    return program.run("cache", *arguments, status=status).output


def test_where_how_large_and_what(filled):
    text = run()
    assert text.startswith(f"{filled}: 4.")
    assert text.splitlines()[2].split() == ["text", "an-encoder", "40", "4.0", "MB"]
    found = json.loads(run("--json"))
    assert found["path"] == str(filled)
    assert found["bytes"] == filled.stat().st_size
    assert found["kinds"] == [{"backbone": "an-encoder", "kind": "text", "entries": 40, "bytes": 4_000_000}]
    assert found["limit"] == 2 * 10**9


def test_no_cache_yet(tmp_path):
    assert run().endswith("features-2.sqlite: 0.0 MB of 2.00 GB\n")
    assert "0 entries removed" in run("prune", "--to-size", "1GB")
    assert list(Path(os.environ["ICONOTEXT_CACHE"]).glob("*")) == []


def test_pruned_to_a_size(filled):
    assert "removed: 4." in run("prune", "--to-size", "2.1 MB")
    assert 1_800_000 < filled.stat().st_size < 2_200_000
    assert json.loads(run("prune", "--to-size", "0", "--json"))["bytes"] < 100_000


def test_pruned_by_age(filled, monkeypatch):
    later = time.time() + 13 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert run("prune", "--older-than", "1d").startswith("0 entries")
    assert run("prune", "--older-than", "12h").startswith("40 entries")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "needs --older-than AGE or --to-size SIZE"),
        (("--to-size", "much"), "--to-size much: give a size such as 500MB"),
        (("--to-size", "-1"), "--to-size -1: give a size"),
        (("--older-than", "2 years"), "--older-than 2 years: give an age such as"),
    ],
)
def test_wrong_values_are_one_line(filled, arguments, message):
    text = run("prune", *arguments, status=1)
    assert message in text
    assert text.count("\n") == 1
    assert filled.stat().st_size > 4_000_000
