"""Another process with a pipe to it: start it, send it messages and receive some, end it, and say how it died."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from iconotext.corpus.in_order import end_with_parent
from iconotext.errors import IconotextError


class GoneError(IconotextError):
    """A process died during its work, or failed by a bug of ours."""


class LateError(GoneError):
    """The work took too long."""


class Child:
    """A process, started at once, that ends with ours even if that is killed. It ignores Ctrl-C.

    Args:
        work: Called in the process with a pipe to us and ``arguments``; a function of a module.
        arguments: Must be picklable.
        daemon: If False, it may start processes, which must end with it (see ``end_with_parent``), and our program
            waits for it at exit unless it was closed.
    """

    def __init__(self, work: Callable[..., None], /, *arguments: Any, daemon: bool = True) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of ours hold
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_live, args=(theirs, work, arguments), daemon=daemon)
        self.process.start()
        theirs.close()

    def tell(self, message: Any) -> None:
        """Send a picklable message. If the process has died, ``hear`` raises an error."""
        with suppress(OSError):
            self.pipe.send(message)

    def hear(self, seconds: float | None = None) -> Any:
        """Wait for its next message. After an error it is closed.

        Raises:
            GoneError: It has died; the message says how.
            LateError: No message came within ``seconds``.
        """
        try:
            if self.pipe.poll(seconds):
                return self.pipe.recv()
        except (EOFError, OSError):
            self.close()
            raise GoneError(self._death()) from None
        self.close()
        raise LateError(f"it takes more than {seconds:.0f} seconds")

    def kill(self) -> None:
        """Kill it; safe from any thread, and ``hear`` then raises an error."""
        self.process.kill()

    def close(self) -> None:
        """Kill it and wait for its end."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _death(self) -> str:
        code = self.process.exitcode or 0
        if code < 0:
            return f"its process was killed by signal {-code}{' (perhaps for want of memory)' if code == -9 else ''}"
        return f"its process ended with status {code}"


def speaking(children: Collection[Child], seconds: float | None = None) -> list[Child]:
    """Wait until some have sent a message or died, or for ``seconds``; return these."""
    told = wait([child.pipe for child in children], seconds)
    return [child for child in children if child.pipe in told]


def _live(pipe: Connection, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Run the work in the process, and exit with the pipe still open: when it closes, the exit status is known."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of us, and the program says what follows
    end_with_parent()
    status = 1
    try:
        work(pipe, *arguments)
        status = 0
    except Exception:
        parent = multiprocessing.parent_process()
        if parent is not None and parent.is_alive():  # else the pipe is closed, and nobody needs to know
            traceback.print_exc()
    finally:
        os._exit(status)  # whatever threads its libraries have left
