"""Shards that are made on the spot, runs over them, and work that is given to engines."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iconotext.corpus.shard_results import Manifest
from iconotext.corpus.shards import ShardSettings
from iconotext.decide.settings import LinkSettings
from iconotext.errors import OutputError
from iconotext.scale.engine import EngineSettings, answer
from iconotext.scale.run import LOCK, link_shards
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
    """Everything in a folder of results but its lock."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def link(shards: Path | str, output: Path | str, workers: int = 1, engine: str = "local", **settings):
    chosen = ShardSettings(**{"to": "jsonl", **settings})
    work = EngineSettings(workers=workers, tries=1, engine=engine)
    return link_shards([str(shards)], str(output), linking=LINKING, settings=chosen, engine=work)


COMMAND = [sys.executable, "-m", "iconotext", "scale", "link", "--to", "jsonl", "--workers", "2", "--json"]


def start(
    folder: Path, shards: str = "in", output: str = "out", engine: str = "local", more: Sequence[str] = (), **how: Any
) -> subprocess.Popen[bytes]:
    with (folder / "said.json").open("wb") as said, (folder / "log").open("ab") as log:
        command = [*COMMAND, "--engine", engine, *more, shards, "-o", output]
        return subprocess.Popen(command, cwd=folder, stdout=said, stderr=log, **how)


def descendants(process: int) -> list[int]:
    """Its children, theirs, and so on."""
    try:
        text = " ".join(path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children"))
    except OSError:
        return []
    return [each for child in text.split() for each in (int(child), *descendants(int(child)))]


def name_of(process: int) -> str:
    """What it calls itself, or the program that it runs; nothing of one that is gone."""
    try:
        said = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return said.decode(errors="replace") if b"spawn_main" in said else said.partition(b"\0")[0].decode().strip()


def manifest(name: str) -> Manifest:
    return Manifest(
        shard=name, inputs=[], setup="", output=f"{name}.parquet", size=0, sha256="", documents={}, images={}, links=0
    )


@dataclass(frozen=True)
class Trouble:
    """Does to numbers what the tests ask for.

    Attributes:
        folder: Where it is noted how often each was begun.
    """

    folder: Path
    die_at: tuple[int, ...] = ()
    deaths: tuple[int, ...] = ()
    large: int = -1
    full: int = -1
    fault: int = -1
    unready: bool = False

    def prepare(self) -> None:
        if self.unready:
            os.kill(os.getpid(), signal.SIGKILL)

    def run(self, number: int, /) -> tuple[int, int]:
        with (self.folder / str(number)).open("a") as file:
            file.write("x")
        begun = (self.folder / str(number)).stat().st_size
        if number in self.die_at and begun <= self.deaths[self.die_at.index(number)]:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == self.large:
            bytearray(300_000_000)
        if number == self.full:
            raise OutputError("the disk is full")
        if number == self.fault:
            raise RuntimeError("a fault")
        time.sleep(0.01)
        return number * number, begun


class Here:
    """The engine of this very process, which need not start another."""

    def __init__(self, work, *, workers, memory):
        self._work, self._memory, self._given = work, memory, []
        self._ready = False

    def room(self):
        return 1

    def give(self, item):
        self._given.append(item)

    def answers(self):
        if not self._ready:
            self._work.prepare()
            self._ready = True
        while self._given:
            item = self._given.pop()
            yield item, *answer(self._work, item, self._memory)

    def close(self):
        if folder := self._work.__dict__.get("_folder"):
            folder.cleanup()
