"""Threads, and the number of cores.

By default PyTorch divides each operation among the cores, which wait for each other after every operation. On a machine
that is also doing other work, a network then runs several times slower than with a batch on each core.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from iconotext.errors import SettingError

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Items for each thread that are in work or finished, beyond the one in use; bounds memory."""

THREADS = "ICONOTEXT_THREADS"
"""Environment variable with the number of threads to use; ``--threads`` sets it."""

OF_LIBRARIES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables with the number of threads for array libraries, read when these are first imported."""


def usable_cores() -> int:
    """Return the number of threads to use: the number that was set, else the number of available cores.

    Available are the cores on which the process may run, or fewer if its control group (a container, a batch system)
    has a smaller share of processor time.
    """
    if setting := os.environ.get(THREADS):
        if not setting.isascii() or not setting.isdigit() or int(setting) < 1:
            raise SettingError(f"{THREADS}={setting}: give a number of threads, 1 or more")
        return int(setting)
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        cores = os.cpu_count() or 1
    return max(1, min(cores, math.ceil(core_quota() or cores)))


def thread_shares(processes: int) -> dict[str, str]:
    """Environment variables that give each of ``processes`` processes its share of the cores.

    If the user's environment sets fewer threads for a library, all libraries get the smallest number: with different
    numbers, their threads would wait for each other.
    """
    share = max(1, usable_cores() // processes)
    limits = [int(value) for name in OF_LIBRARIES if (value := os.environ.get(name, "")).isdigit() and int(value)]
    return {THREADS: str(share)} | dict.fromkeys(OF_LIBRARIES, str(min([share, *limits])))


@contextmanager
def environment(values: Mapping[str, str], *names: str) -> Iterator[None]:
    """Set environment variables in the block, for code that it starts or imports; restore them and ``names`` after."""
    before = {name: os.environ.get(name) for name in (*values, *names)}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@cache
def core_quota(root: Path = Path("/")) -> float | None:
    """Return the processor time that the control groups of this process have, in cores; None without a limit."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return None
    quotas: list[float] = []
    for _, controllers, path in (line.split(":", 2) for line in groups if line.count(":") >= 2):
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Version 1 has a folder for each controller; version 2 has one for all, or one beside those of version 1.
        for mounted in (controllers, "cpu") if controllers else ("", "unified"):
            top = root / "sys/fs/cgroup" / mounted
            group = top / path.lstrip("/")
            quotas += [q for path in (group, *group.parents) if path.is_relative_to(top) and (q := _quota(path))]
    return min(quotas, default=None)


def _quota(group: Path) -> float | None:
    """Return the processor time of one group per second, in seconds; None without a limit."""
    try:
        if (group / "cpu.max").is_file():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return float(quota) / float(period) if float(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):  # no such group here, or 'max': no limit
        return None


def in_threads(
    work: Callable[[T], R], items: Iterable[T], *, threads: int | None = None, ahead: int | None = None
) -> Generator[R, None, None]:
    """Yield ``work(item)`` for each item, in order, computed on threads, by default one per core.

    Args:
        items: Taken a little ahead of the results.
        ahead: Number of items in work or finished; default ``AHEAD`` for each thread, beyond the one in use.
    """
    threads = threads or usable_cores()
    ahead = ahead or threads * (1 + AHEAD)
    to_do = iter(items)
    waiting: deque[Future[R]] = deque()
    with thread_pool(threads) as pool:
        while True:
            for item in islice(to_do, ahead - len(waiting)):
                waiting.append(pool.submit(work, item))
            if not waiting:
                return
            yield waiting.popleft().result()


@contextmanager
def thread_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Make a pool of threads for calls in the block; at its end, calls that have not begun are cancelled."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="iconotext")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def on_cores(work: Callable[[T], R], items: Iterable[T], *, cores: int | None = None) -> Generator[R, None, None]:
    """Yield ``work(item)`` for each item, in order, computed by a thread per core, where PyTorch uses one thread."""
    with _one_core_a_thread():
        yield from in_threads(work, items, threads=cores)


def in_background(work: Callable[..., object], *arguments: Any) -> threading.Thread:
    """Start a thread that does not keep the program from ending."""
    thread = threading.Thread(target=work, args=arguments, name=f"iconotext {work.__name__}", daemon=True)
    thread.start()
    return thread


_lock = threading.Lock()
_users = 0
_threads_before: int | None = None


@contextmanager
def _one_core_a_thread() -> Iterator[None]:
    """Let PyTorch use one thread: the first user lowers this number for the whole process, the last one restores it.

    Does nothing if PyTorch has not been imported.
    """
    global _users, _threads_before
    torch = sys.modules.get("torch")
    with _lock:
        if torch and _threads_before is None:
            _threads_before = torch.get_num_threads()
            torch.set_num_threads(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _threads_before is not None:
                sys.modules["torch"].set_num_threads(_threads_before)
                _threads_before = None
