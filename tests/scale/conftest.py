"""Small shards, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iconotext.corpus.shards import ShardSettings, find_shards
from iconotext.scale.stage import Stage
from tests.support.shards import LINKING


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    """Nothing here may run on a cluster that happens to be there."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.fixture(scope="module")
def linked_stage():
    """A stage whose models are loaded once."""
    stage = Stage("", "setup", linking=LINKING)
    _ = stage.linker
    return stage


@pytest.fixture
def run(linked_stage, tmp_path):
    """Link one shard in this process; its manifest."""

    def link(address: Path, **settings: Any):
        setup = repr(sorted(settings.items()))  # other settings, another digest
        own = Stage(str(tmp_path / "out"), setup, linking=LINKING, settings=ShardSettings(to="jsonl", **settings))
        own.__dict__["linker"] = linked_stage.linker
        (shard,) = find_shards([str(address)])
        return own.run(shard)

    return link
