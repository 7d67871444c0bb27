"""Small shards, made on the spot."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from iconotext.decide.settings import LinkSettings
from iconotext.scale.settings import ShardSettings
from iconotext.scale.shards import find_shards
from iconotext.scale.stage import Stage

LINKING = LinkSettings(relations="none")


def png(seed: int) -> bytes:
    """A picture of noise, different for every seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (72, 80, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def row(number: int, images: list[str], **more: Any) -> dict[str, Any]:
    sentences = [f"Dog number {number} sleeps.", "A red tram stops.", "It rains."]
    places = {"blocks": [0, 1, 2], "positions": [1] * len(images), "captions": ["A red tram"] * len(images)}
    return {"id": f"d{number}", "sentences": sentences, "images": images, **places, **more}


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


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


def results(folder: Path) -> list[dict[str, Any]]:
    """The documents of a folder of results."""
    return [json.loads(line) for file in sorted(folder.rglob("*.jsonl")) for line in file.read_text().splitlines()]
