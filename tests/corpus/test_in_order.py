from __future__ import annotations

import os

import pytest

from iconotext.errors import CorpusError, IconotextError
from iconotext.system.processes import in_order


def doubled(number):
    return 2 * number


def dying(number):
    os._exit(1)


def failing(number):
    raise CorpusError(f"{number}")


def some(count, error=None):
    yield from range(count)
    if error is not None:
        raise error


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_results_come_in_order(workers, count):
    assert list(in_order(some(count), doubled, workers)) == [(i, 2 * i) for i in range(count)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 20])
@pytest.mark.slow
def test_what_comes_before_an_error_is_worked_on(workers, count):
    found: list[tuple[int, int]] = []
    with pytest.raises(CorpusError, match="broken"):
        found.extend(in_order(some(count, CorpusError("broken")), doubled, workers))
    results = in_order(some(count, CorpusError("broken")), doubled, workers)
    assert [next(results) for _ in range(count)] == [(i, 2 * i) for i in range(count)]


@pytest.mark.slow
def test_errors_of_workers_come_out():
    with pytest.raises(CorpusError, match="0"):
        list(in_order(some(9), failing, 2))
    with pytest.raises(IconotextError, match="a worker process died"):
        list(in_order(some(9), dying, 2))
