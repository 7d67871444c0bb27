"""Worker processes: one with a pipe to it (``Child``), or several that work on a list of items in order (``in_order``).

``Child`` starts a process, sends it messages, receives its answers, ends it, and says how it died.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol, TypeVar

from iconotext.errors import IconotextError


class GoneError(IconotextError):
    """A process died during its work, or failed by a bug of this package."""


class LateError(GoneError):
    """The work took too long."""


class Child:
    """A process with a pipe. It starts at once, ends with this process even if that is killed, and ignores Ctrl-C.

    Args:
        work: Called in the process with its end of the pipe and ``arguments``; a function of a module.
        arguments: Must be picklable.
        daemon: If False, it may start processes, which must end with it (see ``end_with_parent``), and this program
            waits for it at exit unless it was closed.
    """

    def __init__(self, work: Callable[..., None], /, *arguments: Any, daemon: bool = True) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of ours hold
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_live, args=(theirs, work, arguments), daemon=daemon)
        self.process.start()
        theirs.close()

    def send(self, message: Any) -> None:
        """Send a picklable message. If the process has died, ``receive`` raises an error."""
        with suppress(OSError):
            self.pipe.send(message)

    def receive(self, seconds: float | None = None) -> Any:
        """Wait for the next message of the process. After an error the process is closed.

        Raises:
            GoneError: The process has died; the message says how.
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
        """Kill the process; safe from any thread, and ``receive`` then raises an error."""
        self.process.kill()

    def close(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _death(self) -> str:
        code = self.process.exitcode or 0
        if code < 0:
            return f"its process was killed by signal {-code}{' (perhaps for want of memory)' if code == -9 else ''}"
        return f"its process ended with status {code}"


def with_messages(children: Collection[Child], seconds: float | None = None) -> list[Child]:
    """Wait until a child has sent a message or died, or for ``seconds``; return the children that have."""
    ready = wait([child.pipe for child in children], seconds)
    return [child for child in children if child.pipe in ready]


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


Item = TypeVar("Item")


class Watch(Protocol):
    """Passes items on and shows progress: how many of ``total`` have come; ``total`` is 0 if unknown."""

    def __call__(self, items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
        """Pass the items on."""


def unwatched(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Pass items on, and show nothing."""
    yield from items


Result = TypeVar("Result")

AHEAD = 3
"""Items per worker that are in memory, with their results: waiting, being worked on, or finished."""


def in_order(
    items: Iterable[Item], work: Callable[[Item], Result], workers: int, *, few: int = 1
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with ``work(item)``, in the order of the items.

    If ``items`` raises an error, the results of the items before it come first, then the error.

    Args:
        items: Taken as needed; items and results are sent between processes, so they should be small.
        work: A function of a module, or ``functools.partial`` of one.
        workers: Number of processes; with 1 the work is done in this one.
        few: With at most this many items no worker process is started.

    Raises:
        IconotextError: A worker died.
    """
    errors: list[Exception] = []

    def made() -> Iterator[Item]:
        try:
            yield from items
        except Exception as error:  # raised again below, after the results of the items before it
            errors.append(error)

    iterator = made()
    first = list(islice(iterator, few + 1))
    every = chain(first, iterator)
    if workers > 1 and len(first) > few:
        yield from _in_processes(every, work, workers)
    else:
        yield from ((item, work(item)) for item in every)
    if errors:
        raise errors[0]


def _in_processes(items: Iterator[Item], work: Callable[[Item], Result], workers: int) -> Iterator[tuple[Item, Result]]:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks held by our threads
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) == AHEAD * workers:
                    item, future = waiting.popleft()
                    yield item, future.result()
            for item, future in waiting:
                yield item, future.result()
        except BrokenProcessPool as broken:
            raise IconotextError(
                "a worker process died, perhaps for want of memory: try again with fewer workers"
            ) from broken
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def end_with_parent() -> None:
    """In a worker: exit when the parent process ends, even if it was killed."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
