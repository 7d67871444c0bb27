import os
import threading
import time

import pytest
import torch

from iconotext.errors import SettingError
from iconotext.system import threads as cores
from iconotext.system.threads import AHEAD, core_quota, on_cores, usable_cores


@pytest.mark.parametrize("cores", [1, 3])
def test_order_is_kept(cores):
    def work(i):
        time.sleep(0.001 * (i % 3))
        return i * i

    assert list(on_cores(work, iter(range(40)), cores=cores)) == [i * i for i in range(40)]
    assert list(on_cores(work, [], cores=cores)) == []


def test_never_runs_far_ahead():
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield i

    results = on_cores(abs, items(), cores=2)
    for i in range(1, 5):
        next(results)
        assert len(taken) <= i + 2 * (1 + AHEAD)
    results.close()


def test_torch_uses_one_thread_in_each_and_as_many_as_before_afterwards():
    before = torch.get_num_threads()
    assert set(on_cores(lambda _: torch.get_num_threads(), range(8), cores=2)) == {1}
    assert torch.get_num_threads() == before
    first, second = (on_cores(abs, range(50), cores=1) for _ in range(2))
    next(first)
    next(second)
    first.close()
    assert torch.get_num_threads() == 1  # the second is not done
    second.close()
    assert torch.get_num_threads() == before


def test_an_error_ends_it_and_leaves_nothing_running():
    before = threading.active_count()
    threads = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        list(on_cores(lambda i: 1 // i, [1, 0, 1, 1], cores=2))
    assert threading.active_count() == before
    assert torch.get_num_threads() == threads


def test_there_is_a_core(monkeypatch):
    monkeypatch.delenv("ICONOTEXT_THREADS", raising=False)
    assert usable_cores() >= 1


def test_threads_are_as_many_as_were_asked_for(monkeypatch):
    monkeypatch.setenv("ICONOTEXT_THREADS", "3")
    assert usable_cores() == 3
    for wrong in ("0", "-1", "two", "1.5", "²"):
        monkeypatch.setenv("ICONOTEXT_THREADS", wrong)
        with pytest.raises(SettingError, match="give a number of threads"):
            usable_cores()


@pytest.mark.parametrize(
    ("quota", "affinity", "wanted"), [(None, 4, 4), (1.5, 4, 2), (0.2, 4, 1), (3.0, 2, 2), (2.0, 4, 2)]
)
def test_cores_are_those_that_affinity_and_quota_both_allow(quota, affinity, wanted, monkeypatch):
    monkeypatch.delenv("ICONOTEXT_THREADS", raising=False)
    monkeypatch.setattr(cores, "core_quota", lambda: quota)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(affinity)), raising=False)
    assert usable_cores() == wanted


V1 = "9:name=systemd:/\n4:memory:/jobs/7\n1:cpu,cpuacct:/jobs/7\n0::/\n"


@pytest.mark.parametrize(
    ("groups", "files", "wanted"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),  # in a container
        ("0::/a/b\n", {"a/cpu.max": "50000 100000", "a/b/cpu.max": "max 100000"}, 0.5),  # the group around it counts
        ("0::/a\n", {"cpu.max": "max 100000", "other/cpu.max": "1000 100000"}, None),
        ("0::/a\n", {"a/cpu.max": "nonsense"}, None),
        ("0::/../..\n", {"cpu.max": "200000 100000"}, 2.0),  # the path of another namespace
        (V1, {"cpu,cpuacct/jobs/7/cpu.cfs_quota_us": "300000", "cpu,cpuacct/jobs/7/cpu.cfs_period_us": "100000"}, 3.0),
        (V1, {"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5),  # in a container
        (V1, {"cpu/jobs/cpu.cfs_quota_us": "-1", "cpu/jobs/cpu.cfs_period_us": "100000"}, None),
        (V1, {"cpu/jobs/cpu.cfs_quota_us": "1", "cpu/jobs/cpu.cfs_period_us": "0"}, None),
        (V1, {"unified/cpu.max": "70000 100000"}, 0.7),
        (None, {"cpu.max": "150000 100000"}, None),  # no Linux
        ("", {"cpu.max": "150000 100000"}, None),
    ],
)
def test_quota_of_control_groups(groups, files, wanted, tmp_path):
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if groups is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
    assert core_quota(tmp_path) == pytest.approx(wanted) if wanted else core_quota(tmp_path) is None


def test_threads_are_shared_out_and_the_user_may_have_fewer(monkeypatch):
    for name in cores.OF_LIBRARIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cores, "usable_cores", lambda: 8)
    assert cores.thread_shares(3) == dict.fromkeys((cores.THREADS, *cores.OF_LIBRARIES), "2")
    assert cores.thread_shares(20)["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MKL_NUM_THREADS", "dynamic")
    assert cores.thread_shares(1) == dict.fromkeys(cores.OF_LIBRARIES, "1") | {cores.THREADS: "8"}
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    assert cores.thread_shares(2)["OMP_NUM_THREADS"] == "4"


def test_other_variables_are_put_back(monkeypatch):
    monkeypatch.setenv("ONE", "1")
    monkeypatch.delenv("TWO", raising=False)
    with cores.environment({"ONE": "x"}, "TWO"):
        assert os.environ["ONE"] == "x"
        os.environ["TWO"] = "y"
    assert os.environ["ONE"] == "1"
    assert "TWO" not in os.environ
