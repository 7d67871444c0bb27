"""Another process: what it is told, what it says, and how it dies."""

from __future__ import annotations

import os
import signal
import time

import pytest

from iconotext.system.processes import Child, GoneError, LateError, speaking


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
    assert child.hear(300) == ("a", 1)
    child.tell("interrupt")
    assert child.hear(300) == "not interrupted"
    child.tell(told)
    with pytest.raises(GoneError, match=f"^{death}$"):
        child.hear(300)
    child.tell("something more")  # is lost
    with pytest.raises(GoneError, match=f"^{death}$"):
        child.hear(300)
    assert ("EOFError: of a file" in capfd.readouterr().err) == (told == "raise")


@pytest.mark.slow
def test_what_takes_too_long_is_ended(child):
    child.hear(300)
    child.tell("sleep")
    with pytest.raises(LateError, match=r"^it takes more than 0 seconds$"):
        child.hear(0.1)
    assert child.process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_those_that_speak_or_are_gone_are_found(child):
    second, third = Child(do, "b"), Child(do, "c")
    children = [child, second, third]
    try:
        for each in children:
            each.hear(300)
        assert speaking(children, 0) == []
        second.tell("interrupt")
        assert speaking(children) == [second]
        third.kill()
        third.process.join()
        assert speaking(children) == [second, third]
    finally:
        second.close()
        third.close()
