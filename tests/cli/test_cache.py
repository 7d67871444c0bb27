from __future__ import annotations

import json
import os
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
    assert list(Path(os.environ["ICONOTEXT_CACHE"]).glob("*")) == []
