"""Worker processes: one with a pipe to it, a pool that answers calls, and work on a list of items in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from typing import Any, ParamSpec, Protocol, TypeVar

from iconotext.errors import IconotextError
from iconotext.system.threads import environment, in_background

P = ParamSpec("P")
Item = TypeVar("Item")
Result = TypeVar("Result")

START_SECONDS = 120.0
"""Time limit in seconds for the preparation of a process, for example for loading a model."""

CLOSED = "the program ends"


class GoneError(IconotextError):
    """A process died during its work, or failed by a bug of this package."""


class LateError(GoneError):
    """The work took too long."""


class UnreadyError(GoneError):
    """A process of a pool died before it was prepared."""


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
        self.pipe, child_end = spawn.Pipe()
        self.process = spawn.Process(target=_live, args=(child_end, work, arguments), daemon=daemon)
        self.process.start()
        child_end.close()

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
            self.close()  # waits for the end, without which there is no exit code
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


@dataclass(slots=True)
class _Call:
    """A call, and the process in which it runs; ``dropped`` if its result is no longer wanted."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: float | None
    child: Child | None = None
    dropped: bool = False


class ProcessPool:
    """A pool of processes that answer calls, each started when it is needed, and again after it died.

    Each thread of the pool has a process. ``ProcessPoolExecutor`` would break as a whole when one process dies, and
    cannot end a call that takes too long: here this costs one call, and the next one gets a new process.

    Args:
        prepare: Called in each process before anything else, with ``settings``.
        settings: For ``prepare``; must pickle.
        variables: Environment variables of the processes.
    """

    def __init__(
        self,
        processes: int,
        prepare: Callable[[Any], None] | None = None,
        settings: Any = None,
        *,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._prepare, self._settings, self._variables = prepare, settings, variables or {}
        self._lock = threading.Lock()
        self._closed = False
        self._calls: dict[Future[Any], _Call] = {}  # those that wait, and those that run
        self._children: dict[int, Child] = {}  # by thread
        self._threads = ThreadPoolExecutor(processes)

    def start(self, processes: int) -> None:
        """Start processes before the first call; an error comes again with the first call."""
        for _ in range(processes):
            self._threads.submit(self._start)

    @property
    def waiting(self) -> int:
        """Number of calls that wait for a process."""
        with self._lock:
            return sum(not future.running() for future in self._calls)

    @property
    def busy(self) -> int:
        """Number of processes that are working."""
        with self._lock:
            return sum(future.running() for future in self._calls)

    def submit(
        self, function: Callable[P, Result], seconds: float | None, /, *arguments: P.args, **_: P.kwargs
    ) -> Future[Result]:
        """Call a function of a module in a process; arguments, result and errors must be picklable.

        The future raises what the function or ``prepare`` raises, or ``GoneError``.

        Args:
            seconds: Time limit, after which the process is ended; None for no limit.

        Raises:
            GoneError: The pool was closed.
        """
        call = _Call(function, arguments, seconds)
        with self._lock:
            if self._closed:
                raise GoneError(CLOSED)
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
            with environment(self._variables):
                self._children[threading.get_ident()] = child = Child(_answer_calls)
            if call is not None:
                call.child = child
        if self._prepare is None:
            return child
        child.send((self._prepare, (self._settings,)))
        try:
            succeeded, value = child.receive(START_SECONDS)
        except GoneError as error:
            raise UnreadyError(str(error)) from None
        if not succeeded:
            child.close()
            raise value
        return child


def _answer_calls(pipe: Connection) -> None:
    """Main loop of a process of a pool."""
    while True:
        function, arguments = pipe.recv()
        try:
            answer = True, function(*arguments)
        except Exception as error:
            if not isinstance(error, IconotextError):
                error.add_note(traceback.format_exc())  # the place is lost on the way
            answer = False, error
        pipe.send(answer)


class Watch(Protocol):
    """Passes items on and shows progress: how many of ``total`` have come; ``total`` is 0 if unknown."""

    def __call__(self, items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
        """Pass the items on."""


def unwatched(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Pass items on, and show nothing."""
    yield from items


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

    def until_error() -> Iterator[Item]:
        try:
            yield from items
        except Exception as error:  # raised again below, after the results of the items before it
            errors.append(error)

    iterator = until_error()
    first = list(islice(iterator, few + 1))
    all_items = chain(first, iterator)
    if workers > 1 and len(first) > few:
        yield from _in_processes(all_items, work, workers)
    else:
        yield from ((item, work(item)) for item in all_items)
    if errors:
        raise errors[0]


def _in_processes(items: Iterator[Item], work: Callable[[Item], Result], workers: int) -> Iterator[tuple[Item, Result]]:
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    with closing(ProcessPool(workers)) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, None, item)))
                if len(waiting) == AHEAD * workers:
                    item, future = waiting.popleft()
                    yield item, future.result()
            for item, future in waiting:
                yield item, future.result()
        except GoneError as gone:
            raise IconotextError(
                "a worker process died, perhaps for want of memory: try again with fewer workers"
            ) from gone


def end_with_parent() -> None:
    """In a worker: exit when the parent process ends, even if it was killed."""
    parent = multiprocessing.parent_process()

    def end_after_parent() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    in_background(end_after_parent)
