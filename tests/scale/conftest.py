"""Small shards, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iconotext.corpus.shards import ShardSettings, find_shards
from iconotext.scale.stage import Stage
from tests.support.shards import LINKING, Here


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
def stage(linked_stage):
    """Make a stage that writes JSON lines to a folder or store."""

    def make(output: Path | str, setup: str = "setup", **settings: Any) -> Stage:
        own = Stage(str(output), setup, linking=LINKING, settings=ShardSettings(to="jsonl", **settings))
        own.__dict__["linker"] = linked_stage.linker
        return own

    return make


@pytest.fixture
def run(stage, tmp_path):
    """Link one shard in this process; its manifest."""

    def link(address: Path, **settings: Any):
        (shard,) = find_shards([str(address)])
        setup = repr(sorted(settings.items()))  # other settings, another digest
        return stage(tmp_path / "out", setup, **settings).run(shard)

    return link


@pytest.fixture
def in_this_process(linked_stage, monkeypatch):
    """Runs start no process and load no model."""
    monkeypatch.setattr("iconotext.scale.run.Linker.load", lambda *_: linked_stage.linker)
    monkeypatch.setattr("iconotext.scale.run.Processes", Here)
