"""Work on every core of a CPU, a batch on each, instead of every core on one batch.

PyTorch's own way divides each operation among the cores, which then wait for each other after each of some hundred
operations: on a machine that does other work besides, a network so runs several times slower than on one core alone.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Items for each thread that are worked on or ready beyond the one in use; bounds memory, however many there are."""


def usable_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def in_threads(
    work: Callable[[T], R], items: Iterable[T], *, threads: int | None = None, ahead: int | None = None
) -> Generator[R, None, None]:
    """What ``work`` makes of each item, in order.

    Args:
        work: Runs on the threads.
        items: Taken a little ahead of what is yielded.
        threads: By default one a core.
        ahead: Items that are worked on or ready; by default ``AHEAD`` for each thread beyond the one in use.
    """
    threads = threads or usable_cores()
    ahead = ahead or threads * (1 + AHEAD)
    to_do = iter(items)
    waiting: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="iconotext-features")
    try:
        while True:
            for item in islice(to_do, ahead - len(waiting)):
                waiting.append(pool.submit(work, item))
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def on_cores(work: Callable[[T], R], items: Iterable[T], *, cores: int | None = None) -> Generator[R, None, None]:
    """What ``work`` makes of each item, in order, computed by one thread a core, in each of which PyTorch uses one.

    Args:
        work: Runs on the threads.
        items: Taken a little ahead of what is yielded.
        cores: By default all that the process may use.
    """
    with _one_core_a_thread():
        yield from in_threads(work, items, threads=cores)


_lock = threading.Lock()
_users = 0
_threads_before = 1


@contextmanager
def _one_core_a_thread() -> Iterator[None]:
    """PyTorch's number of threads is that of the process: the first user lowers it, the last one puts it back."""
    import torch

    global _users, _threads_before
    with _lock:
        if _users == 0:
            _threads_before = torch.get_num_threads()
            torch.set_num_threads(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                torch.set_num_threads(_threads_before)
