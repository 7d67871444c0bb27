"""Jobs in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from iconotext.errors import SettingError
from iconotext.system import threads as cores
from iconotext.system.files import write_text
from iconotext.system.processes import Child
from iconotext_papers.tables.runner import run_jobs
from papers.support import tables


class Seen(tables.Seen):
    """Keeps the losses, too."""

    def step(self, key, epoch, step, steps, loss):
        self.told.append((key, loss))


def tell(job, send):
    send(("step", (1, 2, 3, 0.5)))
    time.sleep(0.05)


def fail(job, send):
    print("a warning", file=sys.stderr, flush=True)
    if job == "told":
        raise SettingError("no memory")
    if job == "raised":
        raise ValueError("what is this")
    if job == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "silent":
        os._exit(7)


def wait(job, send):
    key, folder = job
    child = Child(sleep)
    write_text(folder / key, f"{os.getpid()} {child.process.pid}")
    send(("epoch", ({"epoch": 1},)))
    sleep(child)


def sleep(_):
    time.sleep(3600)


def environment(job, send):
    send(("step", (1, 1, 1, float(os.environ["OMP_NUM_THREADS"]))))


@pytest.mark.slow
def test_no_more_processes_than_asked_for_run_at_a_time(tmp_path):
    watch = Seen()
    jobs = [(key, key) for key in "abcd"]
    assert run_jobs(jobs, tell, processes=2, logs=tmp_path / "logs", watch=watch) == {}
    running = most = 0
    for _, what in watch.told:
        running += (what == "started") - (what is None)
        most = max(most, running)
    assert most == 2
    assert [key for key, what in watch.told if what == "started"] == list("abcd")
    assert sorted(key for key, what in watch.told if what == 0.5) == list("abcd")
    assert not list((tmp_path / "logs").iterdir())


@pytest.mark.slow
def test_one_that_fails_does_not_stop_the_others(tmp_path):
    keys = ["told", "good", "raised", "killed", "silent"]
    watch = Seen()
    failed = run_jobs([(key, key) for key in keys], fail, processes=1, logs=tmp_path / "logs", watch=watch)
    assert set(failed) == {"told", "raised", "killed", "silent"}
    assert failed["told"] == "no memory"
    assert "ValueError: what is this" in failed["raised"]
    assert "signal 9" in failed["killed"]
    assert "status 7: a warning" in failed["silent"]
    assert {path.name for path in (tmp_path / "logs").iterdir()} == {"raised.txt", "killed.txt", "silent.txt"}
    assert [(key, what) for key, what in watch.told if what != "started"] == [(key, failed.get(key)) for key in keys]


@pytest.mark.slow
@pytest.mark.kill
def test_an_interruption_ends_all_processes_at_once(tmp_path):
    jobs = [(key, (key, tmp_path)) for key in ("first", "second")]
    others = multiprocessing.active_children()  # another test may have left a pool
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, wait, processes=2, logs=tmp_path / "logs", watch=Seen(stop_after=1))
    assert set(multiprocessing.active_children()) <= set(others)
    told = [path for path in (tmp_path / "first", tmp_path / "second") if path.exists()]
    assert told  # at least the one that told of its epoch
    for path in told:
        _until_gone(path)
    assert not list((tmp_path / "logs").iterdir())


@pytest.mark.slow
@pytest.mark.kill
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_whoever_started_it(tmp_path, end):
    code = (
        "import sys; from pathlib import Path\n"
        "from iconotext_papers.tables.runner import run_jobs\n"
        "from papers.tables.test_processes import Seen, wait as work\n"
        "folder = Path(sys.argv[1])\n"
        "run_jobs([('job', ('job', folder))], work, processes=1, logs=folder / 'logs', watch=Seen())\n"
    )
    found_here = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=found_here, stderr=subprocess.DEVNULL)
    try:
        _until((tmp_path / "job").is_file)
        parent.send_signal(end)
        parent.wait()
    finally:
        parent.kill()
        parent.wait()
    _until_gone(tmp_path / "job")


def _until_gone(numbers):
    """Wait until a job has ended, and the process that it started."""
    for number in map(int, numbers.read_text().split()):
        _until(lambda number=number: not _lives(number))


def _lives(number):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")  # nobody may be there to take leave of it


def _until(condition):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_process_has_its_share_of_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "usable_cores", lambda: 6)
    for name in cores.OF_LIBRARIES:
        monkeypatch.delenv(name, raising=False)
    watch = Seen()
    run_jobs([("a", None)], environment, processes=2, logs=tmp_path / "logs", watch=watch)
    assert ("a", 3.0) in watch.told
    assert "OMP_NUM_THREADS" not in os.environ
