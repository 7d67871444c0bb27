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
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from filelock import FileLock

from iconotext.corpus.shard_results import begin, is_done
from iconotext.corpus.shards import ShardSettings, find_shards
from iconotext.errors import CorpusError, OutputError, SettingError
from iconotext.linker import Linker, LinkSettings
from iconotext.scale.engine import EngineSettings
from iconotext.scale.run import LOCK, link_shards
from iconotext.scale.stage import Stage
from tests.support.shards import (
    LINKING,
    contents,
    descendants,
    link,
    make,
    name_of,
    png,
    row,
    start,
    write_jsonl,
    write_tar,
)


@pytest.mark.slow
def test_the_same_run_again_does_only_what_is_missing(tmp_path, in_this_process):
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


def test_what_is_gone_costs_no_result_and_is_said(tmp_path, in_this_process):
    shards, output = make(tmp_path / "in"), tmp_path / "out"
    done = link(shards, output)
    assert (done["others"], done["unread"], done["pictureless"]) == ([], {}, {})
    before = contents(output)
    (shards / "001.tar").rename(tmp_path / "away.tar")
    gone = link(shards, output)
    assert (gone["made"], list(gone["lost"])) == (0, ["001"])
    assert "001.tar: is not there any more; bring it back, or take the result away" in gone["lost"]["001"]
    assert contents(output) == before
    result = output / "001.jsonl"
    result.unlink()  # it is to be linked as it is now
    assert (link(shards, output)["made"], link(shards, output)["images"]["usable"]) == (1, 7)
    assert link(shards, output)["pictureless"] == {"001": 4}
    (tmp_path / "away.tar").rename(shards / "001.tar")
    assert link(shards, output)["made"] == 1
    assert link(shards, output) == done | {"made": 0}
    (shards / "002.jsonl").unlink()
    (shards / "002.tar").unlink()
    less = link(shards, output)
    assert (less["shards"], less["others"]) == (2, ["002"])
    (shards / "000.jsonl").write_text("no corpus")
    assert link(shards, output)["unread"] == {"000": "every row is broken"}


@pytest.mark.slow
def test_any_engine_and_number_of_workers_gives_the_same_bytes(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="ray is not installed")
    shards = make(tmp_path / "in", shards=4)
    made: list[dict[str, bytes]] = []
    for engine, workers in (("local", 1), ("local", 3), ("ray", 2)):
        monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path / f"cache{len(made)}"))
        output = tmp_path / f"out{len(made)}"
        assert link(shards, output, workers=workers, engine=engine, to="parquet")["made"] == 4
        made.append(contents(output))
    assert made[0] == made[1] == made[2]
    assert len(made[0]) == 4 + 4 + 1


def test_a_manifest_never_stands_beside_the_result_of_another_time(tmp_path, stage):
    (shard,) = find_shards([str(make(tmp_path / "in", shards=1))])
    stage = stage(tmp_path / "out")
    stage.run(shard)

    def power_cut(*_):
        raise KeyboardInterrupt

    before, data = (tmp_path / "out/000.jsonl").read_bytes(), (tmp_path / "in/000.jsonl").read_bytes()
    (tmp_path / "in/000.jsonl").write_bytes(data.replace(b'"id": "d', b'"id": "e'))  # another one, of the same size
    (shard,) = find_shards([str(tmp_path / "in")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("iconotext.scale.stage.write_manifest", power_cut)
        with pytest.raises(KeyboardInterrupt):
            stage.run(shard)
    (tmp_path / "in/000.jsonl").write_bytes(data)  # and the first one comes back
    (shard,) = find_shards([str(tmp_path / "in")])
    assert is_done(str(tmp_path / "out"), shard, "setup") is None
    stage.run(shard)
    assert (tmp_path / "out/000.jsonl").read_bytes() == before
    known = is_done(str(tmp_path / "out"), shard, "setup")
    assert known
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("iconotext.scale.stage.forget", power_cut)  # a second worker leaves what a first one has made
        assert stage.run(shard) == known


def test_files_of_ours_are_no_shards(tmp_path):
    for name in ("000.jsonl", "_manifests/000.jsonl", "_duplicates.parquet", "more/001.jsonl"):
        write_jsonl(tmp_path / name, [])
    assert [each.name for each in find_shards([str(tmp_path)])] == ["000", "more/001"]
    assert [each.name for each in find_shards([str(tmp_path / "_manifests")])] == ["000"]


@pytest.mark.slow
def test_a_machine_without_the_folder_of_the_results_or_a_shard_writes_nothing(tmp_path):
    shards = find_shards([str(make(tmp_path / "in", shards=1))])
    setup = begin(str(tmp_path / "out"), {"a": 1})
    Stage(str(tmp_path / "out"), setup, linking=LINKING).prepare()
    for output, wrong in ((tmp_path / "elsewhere", setup), (tmp_path / "out", "another")):
        with pytest.raises(OutputError, match="on several machines, shards and results must be in a store"):
            Stage(str(output), wrong, linking=LINKING).prepare()
    shutil.rmtree(tmp_path / "in")
    with pytest.raises(FileNotFoundError, match=r"000\.jsonl: is not there any more, or not on "):
        Stage(str(tmp_path / "out"), setup, linking=LINKING).run(shards[0])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["_run.json"]


def test_other_settings_never_mix(tmp_path, linked_stage, monkeypatch):
    encoder = linked_stage.linker.encoder
    monkeypatch.setattr("iconotext.scale.run.Linker.load", lambda _, settings: Linker(encoder, settings))
    monkeypatch.setattr("iconotext.scale.run.worked", lambda *_, **__: iter(()))
    shards, output = make(tmp_path / "in", shards=1), tmp_path / "out"
    link(shards, output)
    link(shards, output, to="parquet")  # nothing was made yet
    link(shards, output)
    write_jsonl(output / "_manifests/000.json", [])
    with pytest.raises(OutputError, match=r'shards\.to was "jsonl" and is "parquet"\. Name another folder'):
        link(shards, output, to="parquet")
    with pytest.raises(OutputError, match="k was 3 and is 2"):
        link_shards(
            [str(shards)], str(output), linking=LINKING.model_copy(update={"k": 2}), settings=ShardSettings(to="jsonl")
        )
    monkeypatch.setattr("iconotext.scale.run.__version__", "99")
    with pytest.raises(OutputError, match=r'iconotext was "[\d.]+" and is "99"'):
        link(shards, output)


def test_what_is_refused_before_any_work(tmp_path, in_this_process):
    shards, output = make(tmp_path / "in", shards=1), tmp_path / "out"
    with pytest.raises(CorpusError, match="no shard is there"):
        link(tmp_path / "nothing", output)
    with pytest.raises(CorpusError, match="not a folder on this machine; name the one that has the pictures"):
        link(shards, output, images=tmp_path / "nothing")
    assert not output.exists()
    with pytest.raises(SettingError, match="explain"):
        link_shards([str(shards)], str(output), linking=LinkSettings(explain=True))
    with pytest.raises(SettingError, match="address names a cluster of Ray"):
        link_shards([str(shards)], str(output), engine=EngineSettings(address="10.0.0.1:6379"))
    write_jsonl(tmp_path / "two/000.jsonl", [])
    with pytest.raises(OutputError, match="both results would be called 000"):
        link_shards([str(shards), str(tmp_path / "two/000.jsonl")], str(output))
    write_jsonl(tmp_path / "full/mine.txt", [])
    with pytest.raises(OutputError, match=r"mine\.txt\): name another"):
        link(shards, tmp_path / "full")
    for inside in (shards / "out", f"{tmp_path}/in/../in/more/out"):
        with pytest.raises(OutputError, match="so results would be taken for shards"):
            link(shards, inside)
    output.mkdir(exist_ok=True)
    with FileLock(output / LOCK), pytest.raises(OutputError, match="another run writes there"):
        link(shards, output)


def workers(process: int, engine: str) -> list[int]:
    def is_one(each: int) -> bool:
        name = name_of(each)
        return name.startswith("ray::_answered") if engine == "ray" else "spawn_main" in name

    return [each for each in descendants(process) if is_one(each)]


def outlives(process: int) -> bool:
    """Whether it is there, and none of Ray's two agents, which try for a minute to tell a cluster that is gone."""
    return name_of(process) not in ("", "ray::DashboardAgent", "ray::RuntimeEnvAgent")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_ctrl_c_ends_all_with_one_line_and_the_next_run_goes_on(tmp_path, engine):
    pytest.importorskip("ray", reason="ray is not installed")
    make(tmp_path / "in", shards=6, documents=60)
    for _ in range(20):  # begun anew where it was quicker
        process = start(tmp_path, engine=engine, start_new_session=True)
        while process.poll() is None and not list((tmp_path / "out/_manifests").glob("*.json")):
            time.sleep(0.02)
        began = descendants(process.pid)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
        if process.wait() == 130 and len(list((tmp_path / "out/_manifests").glob("*.json"))) < 6:
            break
        shutil.rmtree(tmp_path / "out")
        (tmp_path / "log").unlink()
    else:
        raise AssertionError("it is not interrupted")
    while any(Path(f"/proc/{each}").exists() for each in began):
        time.sleep(0.02)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if not line.startswith("iconotext: Linking shards: ")] == [  # progress, if slow
        "iconotext: stopped; whatever was written is complete, and the same command goes on from there"
    ]
    there = contents(tmp_path / "out")
    assert start(tmp_path).wait() == 0  # any engine goes on where another was
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["documents"]["written"] == 360
    assert 0 < said["made"] < 6
    after = contents(tmp_path / "out")
    before = {name: data for name, data in there.items() if name.startswith("_manifests") and name.endswith(".json")}
    assert before.items() <= after.items()
    assert not [name for name in after if name.endswith(".tmp")]  # of a worker of Ray that was killed while it wrote


def begin_run(folder: Path, engine: str) -> subprocess.Popen[bytes]:
    """Start a run, and again where the machine was too busy for Ray to start; returns once it has workers."""
    while True:
        process = start(folder, engine=engine)
        while process.poll() is None and not workers(process.pid, engine):
            time.sleep(0.01)
        if not process.poll():
            return process
        assert (folder / "log").read_text().splitlines()[-1].startswith("iconotext: Ray (local): ")


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")
@pytest.mark.parametrize(("engine", "kills"), [("local", 4), ("ray", 2)])
def test_kills_at_any_moment_leave_the_bytes_of_an_undisturbed_run(tmp_path, engine, kills):
    shards, documents = 8, 40 if engine == "local" else 100  # Ray's tasks go on for a while
    make(tmp_path / "in", shards=shards, documents=documents)
    pytest.importorskip("ray", reason="ray is not installed")
    assert start(tmp_path).wait(900) == 0
    undisturbed = contents(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    chance, killed = random.Random(0), {"worker": 0, "program": 0}
    for number in count():
        if number >= kills and number % 2 == 0 and min(killed.values()) > 0:  # more where it was quicker
            break
        process = begin_run(tmp_path, engine)
        wanted = chance.randrange(shards // 2)  # results that are there when something is killed
        while process.poll() is None and (
            len(list((tmp_path / "out").glob("*.jsonl"))) < wanted or not workers(process.pid, engine)
        ):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.1))
        started, found = descendants(process.pid), workers(process.pid, engine)
        if number % 2 == 0:
            killed["program"] += process.poll() is None
            process.kill()
        elif found:
            with suppress(ProcessLookupError):  # it has ended just now
                os.kill(chance.choice(found), signal.SIGKILL)
                killed["worker"] += 1
        ended = process.wait(900)
        while any(map(outlives, started)):
            time.sleep(0.05)
        there = contents(tmp_path / "out") if (tmp_path / "out").exists() else {}
        whole = {name: data for name, data in there.items() if ".tmp" not in name}
        assert whole.items() <= undisturbed.items()
        if number % 2:  # what went on after the program was killed, and a worker of the next, is whole
            said = json.loads((tmp_path / "said.json").read_text())
            assert (ended, said["lost"]) == (0, {})
            assert said["documents"]["written"] == said["documents"]["read"] == shards * documents
            assert whole == undisturbed
            shutil.rmtree(tmp_path / "out")
