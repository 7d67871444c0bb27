"""Another process of ours with a pipe to it: how it is started, told things, heard and ended, and how it died."""

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
    """The work ended its process, or came to nothing by a bug of ours."""


class LateError(GoneError):
    """The work took too long."""


class Child:
    """A process that starts at once and ends with ours, however that ends. Ctrl-C does nothing to it.

    Args:
        work: What it does, with a pipe to us and ``arguments``; a function of a module. It ends where this returns.
        arguments: Must pickle.
        daemon: False lets it have children, which must end with it (see ``end_with_parent``); without ``close``, our
            program then waits for it in the end.
    """

    def __init__(self, work: Callable[..., None], /, *arguments: Any, daemon: bool = True) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of ours hold
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_live, args=(theirs, work, arguments), daemon=daemon)
        self.process.start()
        theirs.close()

    def tell(self, message: Any) -> None:
        """Send it something that pickles; where it is gone, ``hear`` says so."""
        with suppress(OSError):
            self.pipe.send(message)

    def hear(self, seconds: float | None = None) -> Any:
        """What it says next. After an error it is closed.

        Raises:
            GoneError: It is gone; says how it died.
            LateError: It says nothing for so many seconds.
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
        """End it at once; any thread may, and whoever hears it is told so."""
        self.process.kill()

    def close(self) -> None:
        """End it at once, and wait for that."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _death(self) -> str:
        code = self.process.exitcode or 0
        if code < 0:
            return f"its process was killed by signal {-code}{' (perhaps for want of memory)' if code == -9 else ''}"
        return f"its process ended with status {code}"


def speaking(children: Collection[Child], seconds: float | None = None) -> list[Child]:
    """Those that have said something, or are gone; waits for one, but no longer than so many seconds."""
    told = wait([child.pipe for child in children], seconds)
    return [child for child in children if child.pipe in told]


def _live(pipe: Connection, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """In the process: work, and end before the pipe does, so that who hears of the one can ask for the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of us, and the program says what follows
    end_with_parent()
    status = 1
    try:
        work(pipe, *arguments)
        status = 0
    except Exception:
        parent = multiprocessing.parent_process()
        if parent is not None and parent.is_alive():  # else the pipe has ended, and nobody wants to know
            traceback.print_exc()
    finally:
        os._exit(status)  # whatever threads its libraries have left
