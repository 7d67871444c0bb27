"""Processes that read and link, one document at a time each, with a limit on time.

Whatever a document does to its process, the server goes on: the process is ended, the next document gets a new one.
The queue is bounded: where too much waits, the next one is refused at once instead of being kept waiting.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from iconotext.corpus.child import Child, GoneError
from iconotext.errors import IconotextError
from iconotext.write import reporting_full_disk

P = ParamSpec("P")
Result = TypeVar("Result")

MAX_WAITING = 64
"""Calls that may wait for a process."""

START_SECONDS = 120.0
"""Seconds that a process may take to start: it loads the model."""


class BusyError(IconotextError):
    """Too many calls are waiting."""


@dataclass(frozen=True, slots=True)
class _Call:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: float
    future: Future[Any]


class Pool:
    """Processes, each with a thread that hands it its work. They start at once: the first call is not to wait for that.

    Args:
        prepare: Called in each process before anything else, with ``settings``.
        settings: For ``prepare``; must pickle.
    """

    def __init__(self, processes: int, prepare: Callable[[Any], None], settings: Any) -> None:
        self._prepare, self._settings = prepare, settings
        self._calls: queue.Queue[_Call | None] = queue.Queue(MAX_WAITING)
        self._closed = False
        self._running: dict[int, Child] = {}
        self._lock = threading.Lock()
        self._at_work: dict[int, Future[Any] | None] = {}
        """The running call of each process; None if its result is no longer wanted."""
        self._threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(processes)]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Number of calls that wait for a process."""
        return self._calls.qsize()

    @property
    def busy(self) -> int:
        """Number of processes that are working."""
        return len(self._at_work)

    def check(self) -> None:
        """Raise ``BusyError`` if no further call may wait."""
        if self._calls.full():
            raise _too_much()

    def submit(
        self, function: Callable[P, Result], seconds: float, /, *arguments: P.args, **_: P.kwargs
    ) -> Future[Result]:
        """Call a function of a module in a process; arguments, result and errors must be picklable.

        The future raises what the function raises, or ``GoneError``.

        Raises:
            BusyError: Too many calls are waiting.
            GoneError: The pool was closed.
        """
        future: Future[Result] = Future()
        with self._lock:
            if self._closed:
                raise GoneError("the server ends")
            try:
                self._calls.put_nowait(_Call(function, arguments, seconds, future))
            except queue.Full:
                raise _too_much() from None
        return future

    def drop(self, future: Future[Any]) -> None:
        """Drop a result that is no longer wanted: cancel the call if it waits, end its process if it is running."""
        if future.cancel():
            return
        with self._lock:
            for number, at_work in self._at_work.items():
                if at_work is future:
                    self._at_work[number] = None
                    if number in self._running:
                        self._running[number].kill()

    def close(self) -> None:
        """End all processes at once, and cancel all calls."""
        with self._lock:
            self._closed = True
        while True:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            if call is not None:
                call.future.cancel()
        for child in list(self._running.values()):
            child.kill()
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join(5)

    def _work(self, number: int) -> None:
        child: Child | None = None
        with suppress(GoneError):  # the first call tries again, and says why
            child = self._started(number)
        while (call := self._calls.get()) is not None:
            if not call.future.set_running_or_notify_cancel():
                continue
            self._at_work[number] = call.future
            try:
                if child is None or not child.process.is_alive():
                    child = self._started(number)
                child.tell((call.function, call.arguments))
                good, value = child.hear(call.seconds)
            except GoneError as error:
                good, value, child = False, error, None
            with self._lock:
                dropped = self._at_work.pop(number) is None
            if dropped and child is not None:
                child.close()
            if good:
                call.future.set_result(value)
            else:
                call.future.set_exception(value)
            del call
        if child is not None:
            child.close()

    def _started(self, number: int) -> Child:
        if self._closed:
            raise GoneError("the server ends")
        self._running[number] = child = Child(serve)
        child.tell((self._prepare, (self._settings,)))
        try:
            good, value = child.hear(START_SECONDS)
        except GoneError as error:
            raise GoneError(f"the process that links cannot be started: {error}") from None
        if not good:
            child.close()
            raise GoneError(str(value))
        return child


def _too_much() -> BusyError:
    return BusyError("too much is waiting already: try again in a minute")


def serve(pipe: Connection) -> None:
    """Answer calls: what each process does."""
    while True:
        pipe.send(_answer(*pipe.recv()))


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        with reporting_full_disk("a file of the server"):
            return True, function(*arguments)
    except IconotextError as error:
        return False, error
    except Exception as error:
        return False, GoneError(f"a bug of iconotext: {error!r}")
