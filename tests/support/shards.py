"""Shards that are made on the spot, and runs over them."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iconotext.corpus.shards import ShardSettings
from iconotext.decide.settings import LinkSettings
from iconotext.scale import LOCK, LOGS, ScaleSettings, link_shards, sums_of
from tests.support.images import noise

LINKING = LinkSettings(relations="none")
png = noise


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


def results(folder: Path) -> list[dict[str, Any]]:
    """The documents of a folder of results."""
    return [json.loads(line) for file in sorted(folder.rglob("*.jsonl")) for line in file.read_text().splitlines()]


def make(folder: Path, shards: int = 3, documents: int = 4) -> Path:
    for shard in range(shards):
        numbers = range(shard * documents, (shard + 1) * documents)
        write_jsonl(folder / f"{shard:03}.jsonl", [row(number, [f"{number % 5}.png"]) for number in numbers])
        write_tar(folder / f"{shard:03}.tar", {f"{number}.png": png(number) for number in range(4)})
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """The results in a folder, and what it says of itself."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK]
    relative = {path.relative_to(folder): path for path in files}
    return {str(name): path.read_bytes() for name, path in relative.items() if name.parts[0] != LOGS}


def link(shards: Path | str, output: Path | str, *, images: Path | None = None, **work: Any) -> dict[str, Any]:
    chosen = ScaleSettings(**{"to": "jsonl", "workers": 1, **work})
    settings = ShardSettings(images=images)
    return link_shards([str(shards)], str(output), linking=LINKING, settings=settings, work=chosen)


def link_here(shards: Path, output: Path, **settings: Any) -> dict[str, Any]:
    """Link shards as one task of a run does; what it counted."""
    from iconotext.adapters.datatrove import JsonlLinks, LinkPictures, ReadShards

    read = ReadShards([str(shards)], ShardSettings(**settings))
    links = LinkPictures(settings=LINKING)
    deque(JsonlLinks(str(output)).run(links.run(read.run())), maxlen=0)
    return sums_of([[step.stats.to_dict() for step in (read, links)]])


COMMAND = [sys.executable, "-m", "iconotext", "scale", "link", "--to", "jsonl", "--workers", "2", "--json"]


def start(
    folder: Path, shards: str = "in", output: str = "out", more: Sequence[str] = (), **how: Any
) -> subprocess.Popen[bytes]:
    with (folder / "said.json").open("wb") as said, (folder / "log").open("ab") as log:
        return subprocess.Popen([*COMMAND, *more, shards, "-o", output], cwd=folder, stdout=said, stderr=log, **how)


def descendants(process: int) -> list[int]:
    """Its children, theirs, and so on."""
    try:
        text = " ".join(path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children"))
    except OSError:
        return []
    return [each for child in text.split() for each in (int(child), *descendants(int(child)))]
