from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iconotext.corpus.builders.frame.journal import journalled, kept_results
from iconotext.errors import CorpusError, IconotextError, OutputError


def squared(number):
    return [number, (number * number, None)]


def parent_of(number):
    return multiprocessing.parent_process() is None


def unkeepable(number):
    return {number}


def dies(number):
    if number == 70:
        os._exit(9)
    return number


def test_results_come_in_order_and_as_json_has_them(tmp_path):
    found = list(journalled(range(5), squared, tmp_path / "j", workers=1, chunk=2))
    assert found == [[n, [n * n, None]] for n in range(5)]
    assert list(kept_results(tmp_path / "j")) == found


def test_the_journal_is_the_same_for_any_number_of_workers(tmp_path):
    for workers in (1, 2, 3):
        assert len(list(journalled(range(300), squared, tmp_path / str(workers), workers=workers, chunk=7))) == 300
    first = (tmp_path / "1").read_bytes()
    assert first == (tmp_path / "2").read_bytes() == (tmp_path / "3").read_bytes()


def test_few_items_are_worked_on_here_and_many_elsewhere(tmp_path):
    assert all(journalled(range(64), parent_of, tmp_path / "few", workers=2))
    assert not any(journalled(range(65), parent_of, tmp_path / "many", workers=2))
    assert list(journalled([], parent_of, tmp_path / "none", workers=2)) == []


def test_items_are_not_all_taken_at_once(tmp_path):
    taken: list[int] = []

    def items():
        for number in range(1000):
            taken.append(number)
            yield number

    results = journalled(items(), squared, tmp_path / "j", workers=2, chunk=10)
    next(results)
    assert len(taken) <= 100
    results.close()


@given(st.integers(0, 40), st.integers(1, 9), st.integers(0, 2_000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_kill_leaves_is_gone_on_with(tmp_path, number, chunk, cut):
    path = tmp_path / "j"
    path.unlink(missing_ok=True)
    whole = list(journalled(range(number), squared, path, workers=1, chunk=chunk))
    data = path.read_bytes()
    path.write_bytes(data[: min(cut, len(data))])
    seen: list[int] = []

    def work(item):
        seen.append(item)
        return squared(item)

    assert list(journalled(range(number), work, path, workers=1, chunk=chunk)) == whole
    assert path.read_bytes() == data
    lines = data[:cut].count(b"\n")
    assert seen == list(range(min(lines * chunk, number), number))


def test_blanks_that_a_power_cut_left_are_cut_off(tmp_path):
    path = tmp_path / "j"
    whole = list(journalled(range(6), squared, path, workers=1, chunk=2))
    data = path.read_bytes()
    path.write_bytes(data[:20] + b"\0" * 30 + b"\n")
    assert list(journalled(range(6), squared, path, workers=1, chunk=2)) == whole
    assert path.read_bytes() == data


def test_other_items_are_noticed(tmp_path):
    list(journalled(range(6), squared, tmp_path / "j", workers=1, chunk=2))
    with pytest.raises(CorpusError, match="belongs to another source: remove it"):
        list(journalled(range(3), squared, tmp_path / "j", workers=1, chunk=2))


def test_results_that_cannot_be_kept_and_workers_that_die(tmp_path):
    with pytest.raises(CorpusError, match="a result of unkeepable cannot be kept"):
        list(journalled(range(3), unkeepable, tmp_path / "a", workers=1))
    found: list[int] = []
    with pytest.raises(IconotextError, match="a worker process died"):
        found.extend(journalled(range(300), dies, tmp_path / "b", workers=2, chunk=10))
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        list(journalled(range(3), squared, tmp_path / "file/j", workers=1))


SCRIPT = """
import sys, time
from pathlib import Path
from iconotext.corpus.builders.frame.journal import journalled
from tests.corpus.builders.test_journal import slow
if __name__ == "__main__":
    for result in journalled(range(100_000), slow, Path(sys.argv[1]), workers=2, chunk=4):
        print(result, flush=True)
"""


def slow(number):
    time.sleep(0.01)
    return os.getpid()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_workers_end_when_the_program_is_killed(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."])}
    program = subprocess.Popen(
        [sys.executable, tmp_path / "script.py", tmp_path / "j"], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert program.stdout is not None
    workers = {int(program.stdout.readline()) for _ in range(40)}
    assert program.pid not in workers
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    latest = time.monotonic() + 20
    while any(running(worker) for worker in workers):
        assert time.monotonic() < latest, "a worker goes on without its program"
        time.sleep(0.05)
    whole, _, _ = (tmp_path / "j").read_bytes().rpartition(b"\n")  # the last line may be torn
    (tmp_path / "j").write_bytes(whole + b"\n")
    kept = list(kept_results(tmp_path / "j"))
    assert len(kept) >= 40


def running(process):
    try:
        with open(f"/proc/{process}/stat") as status:
            return status.read().rsplit(")", 1)[1].split()[0] != "Z"  # one that nobody asked after is over too
    except FileNotFoundError:
        return False
