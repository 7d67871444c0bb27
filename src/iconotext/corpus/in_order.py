"""Runs a function on many items in worker processes, with the results in the order of the items."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Protocol, TypeVar

from iconotext.errors import IconotextError

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
