"""Processes: one with a pipe to it, and several that work on a list in order."""

from __future__ import annotations

import os
import signal
import time

import pytest

from iconotext.errors import CorpusError, IconotextError
from iconotext.system.processes import Child, GoneError, LateError, in_order, with_messages


def do(pipe, *arguments):
    pipe.send(arguments)
    while True:
        match pipe.recv():
            case "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
                pipe.send("not interrupted")
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(7)
            case "return":
                return
            case "raise":
                raise EOFError("of a file, not of the pipe")
            case "sleep":
                time.sleep(3600)


@pytest.fixture
def child():
    made = Child(do, "a")
    yield made
    made.close()
    made.close()  # nothing more happens
    assert not made.process.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "death"),
    [
        ("kill", r"its process was killed by signal 9 \(perhaps for want of memory\)"),
        ("exit", "its process ended with status 7"),
        ("return", "its process ended with status 0"),
        ("raise", "its process ended with status 1"),
    ],
)
def test_who_hears_it_is_told_how_it_died(told, death, capfd):
    child = Child(do, "a", 1)
    assert child.receive(300) == ("a", 1)
    child.send("interrupt")
    assert child.receive(300) == "not interrupted"
    child.send(told)
    with pytest.raises(GoneError, match=f"^{death}$"):
        child.receive(300)
    child.send("something more")  # is lost
    with pytest.raises(GoneError, match=f"^{death}$"):
        child.receive(300)
    assert ("EOFError: of a file" in capfd.readouterr().err) == (told == "raise")


@pytest.mark.slow
def test_what_takes_too_long_is_ended(child):
    child.receive(300)
    child.send("sleep")
    with pytest.raises(LateError, match=r"^it takes more than 0 seconds$"):
        child.receive(0.1)
    assert child.process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_those_that_speak_or_are_gone_are_found(child):
    second, third = Child(do, "b"), Child(do, "c")
    children = [child, second, third]
    try:
        for each in children:
            each.receive(300)
        assert with_messages(children, 0) == []
        second.send("interrupt")
        assert with_messages(children) == [second]
        third.kill()
        third.process.join()
        assert with_messages(children) == [second, third]
    finally:
        second.close()
        third.close()


def doubled(number):
    return 2 * number


def dying(number):
    os._exit(1)


def failing(number):
    raise CorpusError(f"{number}")


def broken(number):
    raise ZeroDivisionError("by nothing")


def some(count, error=None):
    yield from range(count)
    if error is not None:
        raise error


@pytest.mark.slow
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
    with pytest.raises(ZeroDivisionError, match="by nothing") as raised:
        list(in_order(some(9), broken, 2))
    assert "in broken" in "".join(raised.value.__notes__)  # a bug comes out with its place
