"""Runs over many shards: what is done again, what is refused, and what a kill leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock

from iconotext.errors import CorpusError, OutputError, SettingError
from iconotext.pipeline import LinkSettings
from iconotext.scale.run import LOCK, link_shards
from iconotext.scale.settings import EngineSettings, ShardSettings
from tests.scale.conftest import LINKING, png, row, write_jsonl, write_tar


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


def link(shards: Path | str, output: Path | str, workers: int = 1, **settings):
    chosen = ShardSettings(**{"to": "jsonl", **settings})
    engine = EngineSettings(workers=workers, tries=1)
    return link_shards([str(shards)], str(output), linking=LINKING, settings=chosen, engine=engine)


@pytest.mark.slow
def test_the_same_run_again_does_only_what_is_missing(tmp_path):
    shards, output = make(tmp_path / "in"), tmp_path / "out"
    done = link(shards, output)
    assert (done["shards"], done["made"], done["lost"], done["damaged"]) == (3, 3, {}, {})
    assert done["documents"] == {"read": 12, "written": 12}
    assert done["images"] == {"missing": 2, "read": 12, "usable": 10}
    first = contents(output)
    assert link(shards, output) == done | {"made": 0}
    (output / "001.jsonl").unlink()  # a result that is gone
    (output / "_manifests/002.json").write_text('{"half"')  # a manifest that is none
    assert link(shards, output) == done | {"made": 2}
    assert contents(output) == first
    os.utime(shards / "000.jsonl", (0, 0))  # touched, and the same
    assert link(shards, output)["made"] == 0
    write_jsonl(shards / "000.jsonl", [row(77, ["0.png"])])  # another one
    changed = link(shards, output)
    assert (changed["made"], changed["documents"]["read"]) == (1, 9)
    write_tar(shards / "001.tar", {"1.png": png(9)})  # other pictures beside it
    assert link(shards, output)["made"] == 1


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bytes(tmp_path, monkeypatch):
    shards = make(tmp_path / "in", shards=4)
    made = []
    for workers in (1, 3):
        monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path / f"cache{workers}"))
        link(shards, tmp_path / f"out{workers}", workers=workers, to="parquet")
        made.append(contents(tmp_path / f"out{workers}"))
    assert made[0] == made[1]
    assert len(made[0]) == 4 + 4 + 1


def test_other_settings_never_mix(tmp_path, linked_stage, monkeypatch):
    monkeypatch.setattr("iconotext.scale.run.Linker.load", lambda *_: linked_stage.linker)
    monkeypatch.setattr("iconotext.scale.run.in_processes", lambda *_, **__: iter(()))
    shards, output = make(tmp_path / "in", shards=1), tmp_path / "out"
    link(shards, output)
    with pytest.raises(OutputError, match=r'shards\.to was "jsonl" and is "parquet"\. Name another folder'):
        link(shards, output, to="parquet")
    with pytest.raises(OutputError, match="k was 3 and is 2"):
        link_shards(
            [str(shards)], str(output), linking=LINKING.model_copy(update={"k": 2}), settings=ShardSettings(to="jsonl")
        )
    monkeypatch.setattr("iconotext.scale.run.__version__", "99")
    with pytest.raises(OutputError, match=r'iconotext was "[\d.]+" and is "99"'):
        link(shards, output)


def test_what_is_refused_before_any_work(tmp_path, linked_stage, monkeypatch):
    monkeypatch.setattr("iconotext.scale.run.Linker.load", lambda *_: linked_stage.linker)
    shards, output = make(tmp_path / "in", shards=1), tmp_path / "out"
    with pytest.raises(CorpusError, match="no shard is there"):
        link(tmp_path / "nothing", output)
    with pytest.raises(CorpusError, match="not a folder; name the one that has the pictures"):
        link(shards, output, images=tmp_path / "nothing")
    with pytest.raises(SettingError, match="max_false"):
        link_shards([str(shards)], str(output), linking=LinkSettings(max_false=0.1))
    write_jsonl(tmp_path / "two/000.jsonl", [])
    with pytest.raises(OutputError, match="both results would be called 000"):
        link_shards([str(shards), str(tmp_path / "two/000.jsonl")], str(output))
    write_jsonl(tmp_path / "full/mine.txt", [])
    with pytest.raises(OutputError, match=r"mine\.txt\): name another"):
        link(shards, tmp_path / "full")
    output.mkdir(exist_ok=True)
    with FileLock(output / LOCK), pytest.raises(OutputError, match="another run writes there"):
        link(shards, output)


COMMAND = [sys.executable, "-m", "iconotext", "scale", "link", "--to", "jsonl", "--workers", "2", "--json"]


def start(folder: Path, shards: str = "in", output: str = "out") -> subprocess.Popen[bytes]:
    with (folder / "said.json").open("wb") as said, (folder / "log").open("ab") as log:
        return subprocess.Popen([*COMMAND, shards, "-o", output], cwd=folder, stdout=said, stderr=log)


def children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(each) for each in text.split()]


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")
def test_kills_at_any_moment_leave_the_bytes_of_an_undisturbed_run(tmp_path):
    make(tmp_path / "in", shards=8, documents=40)
    begun = time.monotonic()
    assert start(tmp_path).wait(300) == 0
    long = time.monotonic() - begun
    undisturbed = contents(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    chance, killed = random.Random(0), {"worker": 0, "program": 0}
    for number in range(8):
        process = start(tmp_path)
        time.sleep(chance.uniform(0.3, 1) * long)
        workers = children(process.pid)
        if number % 2 and workers:
            os.kill(chance.choice(workers), signal.SIGKILL)
            killed["worker"] += 1
            assert process.wait(300) == 0
        else:
            process.kill()
            process.wait()
            killed["program"] += 1
        there = contents(tmp_path / "out") if (tmp_path / "out").exists() else {}
        assert {name: data for name, data in there.items() if ".tmp" not in name}.items() <= undisturbed.items()
        if number % 2:
            shutil.rmtree(tmp_path / "out")
    assert start(tmp_path).wait(300) == 0
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["lost"] == {}
    assert said["documents"] == {"read": 320, "written": 320}
    assert contents(tmp_path / "out") == undisturbed
    assert min(killed.values()) > 0
