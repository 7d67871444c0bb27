import threading

import pytest

from iconotext.features.decoding import AHEAD, run_network
from tests.support.images import noise

BROKEN = b"no picture"


def size(picture):
    return picture.size


def same(pictures):
    return pictures


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 4, 100])
@pytest.mark.parametrize("cores", [False, True])
def test_order_is_kept_and_broken_ones_are_told(cores, threads, batch_size):
    files = [noise(i, (10 + i, 10)) if i % 3 else BROKEN for i in range(11)]
    asked = []

    def network(pictures):
        asked.append(len(pictures))
        return pictures

    found = list(run_network(files, size, network, at_least=1, batch_size=batch_size, cores=cores, threads=threads))
    assert [isinstance(each, str) for each in found] == [i % 3 == 0 for i in range(11)]
    assert [each[0] for each in found if not isinstance(each, str)] == [10 + i for i in range(11) if i % 3]
    assert sum(asked) == 7
    assert 0 < min(asked) <= max(asked) <= batch_size


@pytest.mark.parametrize("cores", [False, True])
def test_no_files(cores):
    assert list(run_network([], size, same, at_least=1, batch_size=4, cores=cores)) == []


def test_never_runs_far_ahead():
    prepared = []

    def note(picture):
        prepared.append(picture.size)
        return picture.size

    found = run_network([noise(0)] * 100, note, same, at_least=1, batch_size=2, threads=2)
    for i in range(1, 4):
        next(found)
        next(found)
        assert len(prepared) <= 2 * (i + AHEAD)
    found.close()
    assert len(prepared) <= 2 * (3 + AHEAD)


@pytest.mark.parametrize("cores", [False, True])
def test_threads_end_with_the_pictures(cores):
    before = threading.active_count()
    found = run_network([noise(0)] * 20, size, same, at_least=1, batch_size=2, cores=cores, threads=4)
    next(found)
    found.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("cores", [False, True])
def test_a_mistake_in_prepare_is_not_swallowed(cores):
    def wrong(picture):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(run_network([noise(0)], wrong, same, at_least=1, batch_size=1, cores=cores))
