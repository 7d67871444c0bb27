"""Workers that die, take too much, or cannot be started."""

from __future__ import annotations

import multiprocessing

import pytest

from iconotext.errors import IconotextError, OutputError
from iconotext.scale.processes import Lost, in_processes
from tests.scale.work import Trouble

pytestmark = pytest.mark.slow


def worked(work, *, workers=2, tries=3, numbers=range(6)):
    done = dict(in_processes(numbers, work, workers=workers, memory=100_000_000, tries=tries))
    assert multiprocessing.active_children() == []
    return done


@pytest.mark.parametrize("workers", [1, 3])
def test_every_item_is_done_once(tmp_path, workers):
    assert worked(Trouble(tmp_path), workers=workers) == {n: (n * n, 1) for n in range(6)}
    assert worked(Trouble(tmp_path), numbers=()) == {}


def test_what_a_dead_process_had_is_done_by_another(tmp_path):
    done = worked(Trouble(tmp_path, die_at=5, deaths=2))
    assert done == {**{n: (n * n, 1) for n in range(5)}, 5: (25, 3)}


def test_what_kills_every_process_is_given_up_and_the_rest_is_done(tmp_path):
    done = worked(Trouble(tmp_path, die_at=0, deaths=99), tries=2)
    assert done.pop(0) == Lost("its process was killed by signal 9, 2 times")
    assert done == {n: (n * n, 1) for n in range(1, 6)}


def test_memory_is_bounded(tmp_path):
    done = worked(Trouble(tmp_path, large=1, fault=2), workers=1, tries=1)
    assert done.pop(1) == Lost("took more than 0.1 GB beyond its models")
    assert str(done.pop(2)).startswith("Lost(reason='RuntimeError: a fault (work.py:")
    assert sorted(done) == [0, 3, 4, 5]


def test_what_would_befall_every_item_ends_the_run(tmp_path):
    with pytest.raises(OutputError, match="the disk is full"):
        worked(Trouble(tmp_path, full=3))
    with pytest.raises(IconotextError, match="die as they start"):
        worked(Trouble(tmp_path, unready=True))
    assert multiprocessing.active_children() == []
