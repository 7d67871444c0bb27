import threading
import time

import pytest
import torch

from iconotext.features.cores import AHEAD, on_cores, usable_cores


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


def test_there_is_a_core():
    assert usable_cores() >= 1
