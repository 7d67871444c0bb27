"""Runs over many shards: what is done again, what is refused, and what a kill leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from iconotext.corpus.shards import ShardSettings, find_shards
from iconotext.errors import CorpusError, OutputError, SettingError, StoreError
from iconotext.linker import LinkSettings
from iconotext.report.as_json import json_lines
from iconotext.scale import LOCK, ScaleSettings, link_shards
from tests.support.object_store import bucket, running, send
from tests.support.program import run
from tests.support.shards import (
    LINKING,
    contents,
    descendants,
    link,
    make,
    png,
    results,
    row,
    start,
    write_jsonl,
    write_tar,
)

pytest.importorskip("datatrove", reason="datatrove is not installed")


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    """Nothing here may run on a cluster that happens to be there."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.slow
def test_the_same_run_again_does_only_what_is_missing(tmp_path):
    shards, output = make(tmp_path / "in"), tmp_path / "out"
    done = link(shards, output)
    assert (done["shards"], done["tasks"], done["made"], done["waiting"]) == (3, 3, 3, 0)
    assert done["documents"] == {"read": 12, "written": 12}
    assert done["images"] == {"missing": 2, "read": 12, "usable": 10}
    assert done["links"] == sum(len(each["links"]) for each in results(output)) > 0
    first = contents(output)
    assert sorted(first) == ["00000.jsonl", "00001.jsonl", "00002.jsonl", "_run.json"]
    assert link(shards, output) == done | {"made": 0}
    (output / "_logs/completions/00001").unlink()  # of a task that was killed at its end
    assert link(shards, output) == done | {"made": 1}
    assert contents(output) == first
    shards.rename(tmp_path / "moved")  # the shards are the same
    assert link(tmp_path / "moved", output)["made"] == 0
    write_jsonl(tmp_path / "moved/000.jsonl", [row(77, ["0.png"])])  # another one
    changed = link(tmp_path / "moved", output)
    assert (changed["made"], changed["documents"]["read"]) == (1, 9)
    write_tar(tmp_path / "moved/001.tar", {"1.png": png(9)})  # other pictures beside it
    assert link(tmp_path / "moved", output)["made"] == 1
    write_jsonl(tmp_path / "moved/001.jsonl", [])  # of which nothing is left
    assert link(tmp_path / "moved", output)["documents"]["read"] == 5
    assert sorted(contents(output)) == ["00000.jsonl", "00002.jsonl", "_run.json"]


@pytest.mark.slow
def test_shards_that_come_or_go_change_the_tasks_that_read_them(tmp_path):
    shards, output = make(tmp_path / "in"), tmp_path / "out"
    link(shards, output)
    write_jsonl(shards / "000-1.jsonl", [row(50, [])])  # the second by name
    more = link(shards, output)
    assert (more["made"], more["tasks"], more["documents"]["read"]) == (1, 4, 13)
    assert [each["id"] for each in results(output)][-2:] == ["d11", "d50"]
    two = link(shards, output, tasks=2)  # which read every second shard
    assert (two["made"], two["tasks"], two["documents"]["read"]) == (2, 2, 13)
    assert [each["id"] for each in results(output)] == [f"d{n}" for n in (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 50)]
    for name in ("002.jsonl", "002.tar", "000-1.jsonl"):
        (shards / name).unlink()
    assert link(shards, output, tasks=2)["documents"] == {"read": 8, "written": 8}


@pytest.mark.slow
def test_the_results_are_those_of_the_command_link(tmp_path):
    """The lines and the table of single documents, whatever the number of workers; the same on Ray."""
    pytest.importorskip("ray", reason="ray is not installed")
    import pyarrow.parquet as pq

    from iconotext.adapters.datatrove import ReadShards
    from iconotext.linker import Linker
    from iconotext.report.as_parquet import write_parquet

    shards = make(tmp_path / "in", shards=4)
    made: list[dict[str, bytes]] = []
    for number, (executor, workers) in enumerate((("local", 1), ("local", 3), ("ray", 2))):
        output = tmp_path / f"out{number}"
        if executor == "local":
            assert link(shards, output, workers=workers, to="parquet")["made"] == 4
        else:
            assert (
                start(
                    tmp_path,
                    output=output.name,
                    more=["--executor", executor, "--to", "parquet", "--relations", "none"],
                ).wait(900)
                == 0
            )
        made.append(contents(output))
    assert made[0] == made[1] == made[2]
    link(shards, tmp_path / "lines")
    linker = Linker.load("default", LINKING)
    for number, shard in enumerate(find_shards([str(shards)])):
        read = ReadShards([shard.file.address]).run()
        linked = list(linker.link_all(each.document for each in read))
        assert "".join(json_lines(linked)) == "".join(
            json.dumps(each, ensure_ascii=False) + "\n"
            for each in map(json.loads, (tmp_path / f"lines/{number:05}.jsonl").read_text().splitlines())
        )
        write_parquet(linked, tmp_path / "table.parquet", force=True)
        assert pq.read_table(tmp_path / "table.parquet").equals(pq.read_table(tmp_path / f"out0/{number:05}.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told_while_datatrove_says_nothing(tmp_path, capfd, workers):
    def watch(items, *, total, label):
        for item in items:
            print(f"{label}: {item + 1} of {total}", file=sys.stderr)
            yield item

    shards, work = make(tmp_path / "in", shards=2), ScaleSettings(workers=workers)
    link_shards([str(shards)], str(tmp_path / "out"), linking=LINKING, work=work, watch=watch)
    assert capfd.readouterr() == ("", "Linking shards: 1 of 2\nLinking shards: 2 of 2\n")


def test_a_text_that_a_step_changed_is_refused(tmp_path):
    from iconotext.adapters.datatrove import LinkPictures, ReadShards

    (read, *_) = ReadShards([str(make(tmp_path / "in", shards=1))]).run()
    read.text += " And more."
    with pytest.raises(ValueError, match="d0: a step between ReadShards and LinkPictures changed its text"):
        list(LinkPictures(settings=LINKING).run([read]))


def test_files_of_ours_are_no_shards(tmp_path):
    for name in ("000.jsonl", "_logs/000.jsonl", "_run.parquet", "more/001.jsonl"):
        write_jsonl(tmp_path / name, [])
    found = [each.file.address for each in find_shards([str(tmp_path), str(tmp_path / "000.jsonl")])]
    assert found == [str(tmp_path / name) for name in ("000.jsonl", "more/001.jsonl")]
    assert [each.file.address for each in find_shards([str(tmp_path / "_logs")])] == [str(tmp_path / "_logs/000.jsonl")]


@pytest.mark.slow
def test_results_of_other_settings_are_not_mixed(tmp_path, monkeypatch):
    shards, output = make(tmp_path / "in", shards=1), tmp_path / "out"
    link(shards, output)
    with pytest.raises(OutputError, match=r'results\.to was "jsonl" and is "parquet"\. Name another folder'):
        link(shards, output, to="parquet")
    with pytest.raises(OutputError, match=r"linking\.k was 3 and is 2"):
        link_shards(
            [str(shards)], str(output), linking=LINKING.model_copy(update={"k": 2}), work=ScaleSettings(to="jsonl")
        )
    monkeypatch.setattr("iconotext.scale.__version__", "99")
    with pytest.raises(OutputError, match=r'iconotext was "[\d.]+" and is "99"'):
        link(shards, output)
    (output / "_run.json").write_text("{")
    with pytest.raises(OutputError, match=r"_run\.json: damaged; name another folder"):
        link(shards, output)


def test_what_is_refused_before_any_work(tmp_path, monkeypatch):
    shards, output = make(tmp_path / "in", shards=1), tmp_path / "out"
    with pytest.raises(CorpusError, match="no shard is there"):
        link(tmp_path / "nothing", output)
    with pytest.raises(CorpusError, match="not a folder on this machine; name the one that has the pictures"):
        link(shards, output, images=tmp_path / "nothing")
    assert not output.exists()
    with pytest.raises(SettingError, match="explain"):
        link_shards([str(shards)], str(output), linking=LinkSettings(explain=True))
    with pytest.raises(SettingError, match="address is for the executor ray, not for local"):
        link(shards, output, address="10.0.0.1:6379")
    with pytest.raises(SettingError, match="memory is for the executor slurm or ray, not for local"):
        link(shards, output, memory=2)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SettingError, match="there is no sbatch here"):
        link(shards, output, executor="slurm")
    write_jsonl(tmp_path / "full/mine.txt", [])
    with pytest.raises(OutputError, match=r"mine\.txt\): name another"):
        link(shards, tmp_path / "full")
    for inside in (shards / "out", f"{tmp_path}/in/../in/more/out"):
        with pytest.raises(OutputError, match="so results would be taken for shards"):
            link(shards, inside)
    output.mkdir(exist_ok=True)
    with FileLock(output / LOCK), pytest.raises(OutputError, match="another run writes there"):
        link(shards, output)


@pytest.mark.slow
def test_a_shard_without_its_tar_and_one_that_is_none_are_named(tmp_path):
    for name in ("0", "1"):
        write_jsonl(tmp_path / "in" / f"{name}.jsonl", [row(n, [f"{n}.png", "a.png"]) for n in range(2)])
    write_tar(tmp_path / "in" / "0.tar", {"0.png": png(0)})  # three of its four are not there
    command = ("scale", "link", tmp_path / "in", "-o", tmp_path / "out", "--workers", 1)
    told = run(*command)
    assert told.stdout.splitlines()[0] == f"{tmp_path}/out: 2 shards, 2 tasks: 2 done now, 0 done before"
    assert f"1 shard without any picture, {tmp_path}/in/1.jsonl first: is a tar" in told.stderr
    assert json.loads(run(*command, "--json").stdout)["pictureless"] == {f"{tmp_path}/in/1.jsonl": 4}
    (tmp_path / "in/2.jsonl").write_text("no corpus\n")
    told = run(*command, status=1)
    assert f"{tmp_path}/in/2.jsonl: nothing could be read: every row is broken" in told.stderr
    log = (tmp_path / "out/_logs/logs/task_00002.log").read_text()
    assert "line 1: not JSON" in log


SBATCH = """#!/bin/sh
# Runs the tasks of an array at once, as Slurm would some day.
for script; do :; done
case "$(cat "$script")" in *merge_stats*) echo Submitted batch job 8; exit;; esac
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$script")
for task in $(seq 0 "$last"); do
    SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=7 SLURM_NODELIST=here bash "$script" >/dev/null 2>&1 || exit 1
done
echo Submitted batch job 7
"""


@pytest.mark.slow
def test_slurm_gets_a_job_for_the_tasks_that_are_missing(tmp_path, monkeypatch):
    for name, text in (
        ("sbatch", SBATCH),
        ("srun", '#!/bin/sh\nwhile [ "$1" != launch_pickled_pipeline ]; do shift; done\nexec "$@"\n'),
        ("scontrol", "#!/bin/sh\necho here\n"),
    ):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}")
    shards = make(tmp_path / "in")
    here = link(shards, tmp_path / "here")
    done = link(shards, tmp_path / "out", executor="slurm", partition="night", memory=3)
    assert done == here
    assert contents(tmp_path / "out") == contents(tmp_path / "here")
    script = (tmp_path / "out/_logs/launch_script.slurm").read_text()
    for line in ("--partition=night", "--mem-per-cpu=3G", "--time=24:00:00", "--array=0-2%1", "--job-name=iconotext"):
        assert f"#SBATCH {line}\n" in script
    assert "qos" not in script
    (tmp_path / "bin/sbatch").write_text("#!/bin/sh\necho Submitted batch job 9\n")  # which nothing has begun yet
    write_jsonl(shards / "003.jsonl", [row(50, [])])
    told = run(
        "scale", "link", shards, "-o", tmp_path / "out", "--to", "jsonl", "--relations", "none", "--executor", "slurm"
    )
    assert told.stdout.splitlines()[0].endswith("4 shards, 4 tasks: 0 done now, 3 done before, 1 in the queue of Slurm")


def killed_once(folder: Path, chance: random.Random, wanted: int) -> None:
    """Start a run, and kill all its processes once ``wanted`` tasks are completed."""
    process = start(folder, start_new_session=True)
    while process.poll() is None and len(list((folder / "out/_logs/completions").glob("*"))) < wanted:
        time.sleep(0.01)
    time.sleep(chance.uniform(0, 0.2))
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_kills_leave_the_rows_of_an_undisturbed_run(tmp_path):
    make(tmp_path / "in", shards=8, documents=20)
    assert start(tmp_path).wait(900) == 0
    undisturbed = contents(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    chance = random.Random(0)
    for wanted in (1, 3, 5):
        killed_once(tmp_path, chance, wanted)
        whole = {name: data for name, data in contents(tmp_path / "out").items() if not name.startswith("_")}
        assert whole.items() <= undisturbed.items()
    assert start(tmp_path).wait(900) == 0
    assert contents(tmp_path / "out") == undisturbed
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["documents"] == {"read": 160, "written": 160}


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_a_process_that_dies_ends_the_run_with_one_line(tmp_path):
    make(tmp_path / "in", shards=6, documents=200)
    process = start(tmp_path)
    while not list((tmp_path / "out/_logs/completions").glob("*")) and process.poll() is None:
        time.sleep(0.02)
    (worker, *_) = [
        each
        for each in descendants(process.pid)
        if any("onnxruntime" in line for line in maps(each)) and each != process.pid
    ]
    os.kill(worker, signal.SIGKILL)
    assert process.wait(900) == 1
    (line,) = [line for line in (tmp_path / "log").read_text().splitlines() if "Linking shards" not in line]
    assert line.startswith("iconotext: a process that links shards died, most often for want of memory: take fewer")
    assert start(tmp_path).wait(900) == 0
    assert json.loads((tmp_path / "said.json").read_text())["documents"]["written"] == 1200


def maps(process: int) -> list[str]:
    """The files that a process has mapped."""
    try:
        return Path(f"/proc/{process}/maps").read_text().splitlines()
    except OSError:
        return []


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
@pytest.mark.parametrize("executor", ["local", "ray"])
def test_ctrl_c_ends_all_with_one_line_and_the_next_run_goes_on(tmp_path, executor):
    pytest.importorskip("ray", reason="ray is not installed")
    make(tmp_path / "in", shards=6, documents=200)
    process = start(tmp_path, more=["--executor", executor], start_new_session=True)
    while process.poll() is None and not list((tmp_path / "out/_logs/completions").glob("*")):
        time.sleep(0.02)
    began = descendants(process.pid)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    assert process.wait(900) == 130
    while any(alive(each) for each in began):
        time.sleep(0.05)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if not line.startswith("iconotext: Linking shards: ")] == [
        "iconotext: stopped; whatever was written is complete, and the same command goes on from there"
    ]
    assert start(tmp_path).wait(900) == 0  # any executor goes on where another was
    said = json.loads((tmp_path / "said.json").read_text())
    assert said["documents"]["written"] == 1200
    assert 0 < said["made"] < 6
    assert not (tmp_path / "out/_unfinished").exists()


def alive(process: int) -> bool:
    """Whether a process is there, and none of Ray's agents, which try for a minute to tell a cluster that is gone."""
    try:
        name = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return bool(name) and not name.startswith((b"ray::DashboardAgent", b"ray::RuntimeEnvAgent"))


@pytest.fixture
def server(monkeypatch):
    yield from running(monkeypatch)


def with_objects(folder: Path) -> Path:
    """Two shards, one with its pictures in a tar, one with pictures that are objects of their own."""
    write_jsonl(folder / "a/0.jsonl.gz", [row(n, ["0.png", "no.png"]) for n in range(3)])
    write_tar(folder / "a/0.tar", {"0.png": png(0)})
    write_jsonl(folder / "b.jsonl", [row(9, ["img/1.png", "../b.jsonl", "no.png", "https://example.org/a.png"])])
    (folder / "img").mkdir()
    (folder / "img/1.png").write_bytes(png(1))
    page = {"url": "https://example.org", "text_list": ["A dog."], "image_info": [{"image_name": "2.png"}]}
    write_jsonl(folder / "pages.jsonl", [page])
    (folder / "pages_images").mkdir()
    (folder / "pages_images/2.png").write_bytes(png(2))
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_store_gives_the_bytes_that_this_machine_gives(server, tmp_path):
    here = link(with_objects(tmp_path / "in"), tmp_path / "out")
    send(tmp_path / "in", "s3://bucket/in")
    there = link("s3://bucket/in", "s3://bucket/out", workers=2)
    assert (there["made"], there) == (3, here)
    store = bucket()
    fetched = {name.removeprefix("bucket/out/"): store.cat_file(name) for name in store.find("bucket/out")}
    made = {name: data for name, data in contents(tmp_path / "out").items() if name.endswith("jsonl")}
    assert made == {name: data for name, data in fetched.items() if name.endswith("jsonl")}
    assert link("s3://bucket/in", "s3://bucket/out")["made"] == 0
    store.pipe_file("bucket/in/b.jsonl", b"")
    changed = link("s3://bucket/in", "s3://bucket/out")
    assert (changed["made"], changed["documents"]["read"]) == (1, 4)
    assert link("s3://bucket/in", tmp_path / "fetched", images=tmp_path)["documents"] == changed["documents"]
    with pytest.raises(CorpusError, match="no shard is there"):
        link("s3://bucket/nothing", tmp_path / "no")
    with pytest.raises(StoreError, match="no store that fsspec reaches"):
        link("gopher://x/y", tmp_path / "no")


def test_settings_of_shards_are_those_of_reading():
    assert set(ShardSettings.model_fields) == {"sample", "images", "allow_outside"}
