"""Workers that die, take too much, or cannot be started: the same of every engine."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import pytest

from iconotext.errors import FeatureError, IconotextError, OutputError
from iconotext.scale.engine import Lost, Processes, answer, worked
from iconotext.scale.on_ray import OnRay
from tests.support.shards import Trouble, contents, descendants, make, name_of, start

pytestmark = pytest.mark.slow

MEMORY = 100_000_000


def processes_of_ray():
    """Those that still run on this machine as children of this process or of nobody."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if f"iconotext-of-{os.getpid()}" in line]


@contextmanager
def node(*options: str):
    """A machine of a cluster, as far as Ray can tell; its process."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats", *options]
    command += ["--num-cpus", "1", "--node-ip-address", "127.0.0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            for line in process.stdout:
                if b"runtime started" in line:
                    break
            else:
                pytest.fail("the cluster did not start")
            yield process
        finally:
            process.terminate()
            process.communicate()


@pytest.fixture(scope="module")
def cluster():
    """The address of a cluster of somebody else, which has a token of its own."""
    pytest.importorskip("ray", reason="ray is not installed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    own = TemporaryDirectory(prefix="cluster-", ignore_cleanup_errors=True)
    with pytest.MonkeyPatch.context() as patch, own as folder:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", "b" * 64)
        with node("--head", "--port", str(port), "--temp-dir", folder, "--include-dashboard", "false"):
            yield f"127.0.0.1:{port}"


@pytest.fixture
def engine(request, monkeypatch, tmp_path):
    """Makes an engine of some workers."""
    if request.param == "local":
        yield lambda work, workers: Processes(work, workers=workers, memory=MEMORY)
        assert multiprocessing.active_children() == []
        return
    if request.param == "cluster":
        address = request.getfixturevalue("cluster")
        yield lambda work, workers: OnRay(work, address=address, workers=workers, memory=MEMORY)
        return
    pytest.importorskip("ray", reason="ray is not installed")
    own = partial(TemporaryDirectory, prefix=f"iconotext-of-{os.getpid()}-")
    monkeypatch.setattr("iconotext.scale.on_ray.TemporaryDirectory", lambda prefix, **more: own(**more))
    yield lambda work, workers: OnRay(work, address=None, workers=workers, memory=MEMORY)
    assert processes_of_ray() == []
    assert list(Path(gettempdir()).glob(f"iconotext-of-{os.getpid()}-*")) == []


def done(engine, work, *, workers=2, tries=3, numbers=range(6)):
    with closing(engine(work, workers)) as running:
        return dict(worked(numbers, running, tries=tries))


@pytest.mark.parametrize("engine", ["local", "ray"], indirect=True)
def test_what_a_dead_process_had_is_done_by_another_and_at_last_given_up(tmp_path, engine):
    found = done(engine, Trouble(tmp_path, die_at=(5, 0), deaths=(2, 99)), workers=3)
    lost = found.pop(0)
    assert found == {**{n: (n * n, 1) for n in range(1, 5)}, 5: (25, 3)}
    assert lost.reason.startswith("its process was ")
    assert lost.reason.endswith(", 3 times")


@pytest.mark.parametrize("engine", ["local", "cluster"], indirect=True)
def test_memory_is_bounded(tmp_path, engine):
    found = done(engine, Trouble(tmp_path, large=1, fault=2), workers=1, tries=1)
    assert found.pop(1) == Lost("set memory higher (4 by default): it took more than 0.1 GB beyond its models")
    assert str(found.pop(2)).startswith("Lost(reason='RuntimeError: a fault (shards.py:")
    assert sorted(found) == [0, 3, 4, 5]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("libarrow.so: failed to map segment from shared object"), "set memory higher (4 by default)"),
        (FeatureError("x.onnx: std::bad_alloc"), "set memory higher (4 by default)"),
        (
            RuntimeError("can't start new thread"),
            "no more threads: the system allows no more (ulimit -u), or set memory higher",
        ),
    ],
)
def test_want_of_memory_or_threads_is_known_by_what_libraries_say(error, said):
    class Wanting:
        def prepare(self):
            pass

        def run(self, number, /):
            raise error

    assert answer(Wanting(), 1, 500_000_000) == ("failed", f"{said}: it took more than 0.5 GB beyond its models")


@pytest.mark.parametrize("engine", ["local", "cluster"], indirect=True)
def test_what_would_befall_every_item_ends_the_run(tmp_path, engine):
    with pytest.raises(OutputError, match="the disk is full"):
        done(engine, Trouble(tmp_path, full=3))


@pytest.mark.parametrize("engine", ["local", "cluster"], indirect=True)
def test_workers_that_die_as_they_start_end_the_run(tmp_path, engine):
    with pytest.raises(IconotextError, match="die as they start: its process was "):
        done(engine, Trouble(tmp_path, unready=True), tries=1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_a_machine_that_is_lost_costs_what_it_had(tmp_path, cluster):
    make(tmp_path / "in", shards=8, documents=100)
    with start(tmp_path, output="alone") as alone:
        assert alone.wait() == 0
    with node("--address", cluster) as second:
        (raylet,) = [each for each in descendants(second.pid) if name_of(each).endswith("/raylet")]
        with start(tmp_path, engine="ray", more=["--address", cluster]) as process:
            try:
                lost: list[int] = []
                while process.poll() is None and not lost:
                    time.sleep(0.02)
                    lost = [each for each in descendants(raylet) if is_worker(each)]
                os.kill(raylet, signal.SIGKILL)
                assert process.wait() == 0, (tmp_path / "log").read_text()
            finally:
                process.kill()
    assert lost
    assert made_and_lost(tmp_path) == (8, {})
    while any(map(name_of, lost)):  # each notices within some seconds that its Ray is gone
        time.sleep(0.02)
    with start(tmp_path) as process:  # which takes away what they had begun
        assert process.wait() == 0
    assert made_and_lost(tmp_path) == (0, {})
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")


def made_and_lost(folder: Path) -> tuple[int, dict[str, str]]:
    said = json.loads((folder / "said.json").read_text())
    return said["made"], said["lost"]


def is_worker(process: int) -> bool:
    return name_of(process).startswith("ray::_answered")


def test_one_process_works_on_clusters_of_others_and_its_own_by_turns(tmp_path, cluster):
    for turn, address in enumerate((cluster, None, cluster), 1):  # each lets in only who has its own token
        with closing(OnRay(Trouble(tmp_path), address=address, workers=1, memory=MEMORY)) as running:
            assert dict(worked([2], running, tries=1)) == {2: (4, turn)}


def test_a_cluster_that_is_not_there():
    pytest.importorskip("ray", reason="ray is not installed")
    with pytest.raises(IconotextError, match=r"127\.0\.0\.1:1: no cluster of Ray answers there: Connection refused"):
        OnRay(Trouble(Path()), address="127.0.0.1:1", workers=1, memory=MEMORY)
