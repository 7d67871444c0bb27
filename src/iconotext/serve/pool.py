"""A pool of processes that read and link, one document at a time each, with a time limit (``Pool``).

Each thread of the pool has a process (``system.processes.Child``). ``ProcessPoolExecutor`` would break as a whole when
one process dies, and cannot end a call that takes too long: here a process that a document breaks or holds up is
ended, and the next document gets a new one. The queue is bounded: if too many calls wait, the next one is refused at
once. ``picture_pool`` is a pool that encodes pictures for studies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from iconotext.errors import IconotextError, ImageError
from iconotext.report.embedded import embed
from iconotext.system.files import reporting_full_disk
from iconotext.system.processes import Child, GoneError
from iconotext.types import Image

P = ParamSpec("P")
Result = TypeVar("Result")

MAX_WAITING = 64
"""Calls that may wait for a process."""

START_SECONDS = 120.0
"""Time limit in seconds for the start of a process, which loads the model."""

PICTURE_SECONDS = 60.0
"""Time limit in seconds for encoding a picture."""


CLOSED, TOO_MUCH = "the server ends", "too much is waiting already: try again in a minute"


class BusyError(IconotextError):
    """Too many calls are waiting."""


@dataclass(slots=True)
class _Call:
    """A call, and the process in which it runs; ``dropped`` if its result is no longer wanted."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: float
    child: Child | None = None
    dropped: bool = False


class Pool:
    """A pool of processes. They start at once, before the first call.

    Args:
        prepare: Called in each process before anything else, with ``settings``.
        settings: For ``prepare``; must pickle.
    """

    def __init__(self, processes: int, prepare: Callable[[Any], None], settings: Any) -> None:
        self._prepare, self._settings = prepare, settings
        self._lock = threading.Lock()
        self._closed = False
        self._calls: dict[Future[Any], _Call] = {}  # those that wait, and those that run
        self._children: dict[int, Child] = {}  # by thread
        self._threads = ThreadPoolExecutor(processes)
        for _ in range(processes):
            self._threads.submit(self._start)  # an error comes again with the first call

    @property
    def waiting(self) -> int:
        """Number of calls that wait for a process."""
        with self._lock:
            return self._waiting()

    def _waiting(self) -> int:
        return sum(not future.running() for future in self._calls)

    @property
    def busy(self) -> int:
        """Number of processes that are working."""
        with self._lock:
            return sum(future.running() for future in self._calls)

    def check(self) -> None:
        """Raise ``BusyError`` if no further call may wait."""
        if self.waiting >= MAX_WAITING:
            raise BusyError(TOO_MUCH)

    def submit(
        self, function: Callable[P, Result], seconds: float, /, *arguments: P.args, **_: P.kwargs
    ) -> Future[Result]:
        """Call a function of a module in a process; arguments, result and errors must be picklable.

        The future raises what the function raises, or ``GoneError``.

        Raises:
            BusyError: Too many calls are waiting.
            GoneError: The pool was closed.
        """
        call = _Call(function, arguments, seconds)
        with self._lock:
            if self._closed:
                raise GoneError(CLOSED)
            if self._waiting() >= MAX_WAITING:
                raise BusyError(TOO_MUCH)
            future: Future[Result] = self._threads.submit(self._run, call)
            self._calls[future] = call
        future.add_done_callback(self._forget)
        return future

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            del self._calls[future]

    def drop(self, future: Future[Any]) -> None:
        """Drop a result that is no longer wanted: cancel the call if it waits, end its process if it is running."""
        if future.cancel():
            return
        with self._lock:
            call = self._calls.get(future)
            if call is not None:
                call.dropped = True
                if call.child is not None:
                    call.child.kill()

    def close(self) -> None:
        """End all processes at once, and cancel all calls."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in list(self._children.values()):
            child.kill()  # its thread then gets an error, and ends
        self._threads.shutdown()
        for child in self._children.values():
            child.close()

    def _run(self, call: _Call) -> Any:
        """In a thread of the pool: the result of a call in the process of the thread."""
        child = self._children.get(threading.get_ident())
        if child is None or not child.process.is_alive():
            child = self._start(call)
        with self._lock:
            call.child = child
        child.send((call.function, call.arguments))
        try:
            succeeded, value = child.receive(call.seconds)
        finally:
            with self._lock:
                call.child = None
            if call.dropped:  # it may have been killed after its answer: the next call must not get it
                child.close()
        if not succeeded:
            raise value
        return value

    def _start(self, call: _Call | None = None) -> Child:
        """In a thread of the pool: start its process, for the first call or none yet."""
        with self._lock:  # so that none starts after the pool was closed
            if self._closed:
                raise GoneError(CLOSED)
            self._children[threading.get_ident()] = child = Child(serve)
            if call is not None:
                call.child = child
        child.send((self._prepare, (self._settings,)))
        try:
            succeeded, value = child.receive(START_SECONDS)
        except GoneError as error:
            raise GoneError(f"the process that links cannot be started: {error}") from None
        if not succeeded:
            child.close()
            raise GoneError(str(value))
        return child


def serve(pipe: Connection) -> None:
    """Main loop of a process: answer calls."""
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


def picture_pool() -> Pool:
    """A pool of one process for ``encoded``, without a model; linking does not hold it up."""
    return Pool(1, _prepare_nothing, None)


def encoded(file: Path) -> tuple[str, bytes]:
    """Media type (jpeg or png) and bytes of a picture, at most 900 pixels a side, without metadata."""
    picture = embed([Image("picture", file)], [0])[0]
    if picture.uri is None:
        raise ImageError(f"this picture cannot be shown: {picture.problem}")
    return picture.content


def _prepare_nothing(_: None) -> None:
    pass
