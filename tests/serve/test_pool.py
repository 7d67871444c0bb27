"""Processes that work, are ended, and are replaced."""

from __future__ import annotations

import os
import time

import pytest

from iconotext.errors import DocumentError, IconotextError
from iconotext.serve import pool as module
from iconotext.serve.pool import BusyError, Pool
from iconotext.system.processes import GoneError

pytestmark = pytest.mark.slow


def prepare(settings):
    if settings == "fail":
        raise IconotextError("no such model")


def work(what):
    if what == "sleep":
        time.sleep(3600)
    if what == "die":
        os._exit(3)
    if what == "ours":
        raise DocumentError("a document of yours")
    if what == "bug":
        raise ZeroDivisionError("by nothing")
    return os.getpid()


@pytest.fixture
def pool():
    made = Pool(1, prepare, None)
    yield made
    made.close()


def test_whatever_a_call_does_the_next_one_is_answered(pool):
    first = pool.submit(work, 3000, "good").result(300)
    assert pool.submit(work, 3000, "good").result(300) == first  # the same process
    with pytest.raises(DocumentError, match="of yours"):
        pool.submit(work, 3000, "ours").result(300)
    with pytest.raises(GoneError, match=r"a bug of iconotext.*by nothing"):
        pool.submit(work, 3000, "bug").result(300)
    with pytest.raises(GoneError, match="its process ended with status 3"):
        pool.submit(work, 3000, "die").result(300)
    second = pool.submit(work, 3000, "good").result(300)
    with pytest.raises(GoneError, match="more than 0 seconds"):  # it would sleep for an hour
        pool.submit(work, 0.2, "sleep").result(300)
    third = pool.submit(work, 3000, "good").result(300)
    assert len({first, second, third}) == 3


def test_too_much_is_refused_and_what_waits_is_cancelled_at_the_end(monkeypatch):
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    pool = Pool(1, prepare, None)
    calls = [pool.submit(work, 3000, "sleep")]
    while pool.waiting:
        time.sleep(0.01)
    calls += [pool.submit(work, 3000, "good") for _ in range(2)]
    with pytest.raises(BusyError):
        pool.submit(work, 3000, "good")
    with pytest.raises(BusyError):
        pool.check()
    pool.close()
    assert [call.cancelled() for call in calls] == [False, True, True]
    with pytest.raises(GoneError):
        calls[0].result(300)
    with pytest.raises(GoneError, match="the program ends"):  # rather than wait for ever
        pool.submit(work, 3000, "good")


def test_what_nobody_wants_any_more_ends_at_once_and_nothing_else_does(pool):
    first = pool.submit(work, 3000, "good").result(300)
    running, waiting, wanted = (pool.submit(work, 3000, what) for what in ("sleep", "sleep", "good"))
    while pool.busy == 0 or pool.waiting > 2:
        time.sleep(0.01)
    pool.drop(waiting)
    pool.drop(running)
    assert wanted.result(300) != first  # a new process
    assert waiting.cancelled()
    with pytest.raises(GoneError):
        running.result(300)
    pool.drop(running)  # is over: nothing happens to the process that is there now
    assert pool.submit(work, 3000, "good").result(300) == wanted.result()


def test_a_process_that_cannot_be_prepared_says_why():
    pool = Pool(1, prepare, "fail")
    with pytest.raises(GoneError, match="no such model"):
        pool.submit(work, 3000, "good").result(300)
    pool.close()
