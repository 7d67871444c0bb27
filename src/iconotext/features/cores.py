"""Work on every core of a CPU, a batch on each, instead of every core on one batch.

PyTorch's own way divides each operation among the cores, which then wait for each other after each of some hundred
operations: on a machine that does other work besides, a network so runs several times slower than on one core alone.
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
from typing import TypeVar

from iconotext.errors import SettingError

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2
"""Items for each thread that are worked on or ready beyond the one in use; bounds memory, however many there are."""


THREADS = "ICONOTEXT_THREADS"
"""The variable that says how many threads to use; ``--threads`` sets it."""

OF_LIBRARIES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables by which libraries of arrays know how many threads to use: read once, when they are first imported. Left
alone, each of several processes would use all cores, and its threads would wait for those of the others."""


def usable_cores() -> int:
    """Threads that this process should use: what was asked for, else the cores that are really free to it.

    These are the cores that it may run on, or fewer where its control group (a container, a batch system) has the time
    of fewer.

    Raises:
        SettingError: ``ICONOTEXT_THREADS`` is not a number of threads.
    """
    if asked := os.environ.get(THREADS):
        if not asked.isascii() or not asked.isdigit() or int(asked) < 1:
            raise SettingError(f"{THREADS}={asked}: give a number of threads, 1 or more")
        return int(asked)
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        cores = os.cpu_count() or 1
    return max(1, min(cores, math.ceil(core_quota() or cores)))


def thread_shares(processes: int) -> dict[str, str]:
    """Variables that give each of some processes its share of the cores.

    Its libraries get fewer threads where the user's own environment says so, and all of them alike: where one has more
    threads than another, they wait for each other.
    """
    share = max(1, usable_cores() // processes)
    own = [int(value) for name in OF_LIBRARIES if (value := os.environ.get(name, "")).isdigit() and int(value)]
    return {THREADS: str(share)} | dict.fromkeys(OF_LIBRARIES, str(min([share, *own])))


@contextmanager
def environment(values: Mapping[str, str], *others: str) -> Iterator[None]:
    """Other variables in the block, for what is started or imported there; they and ``others`` are put back."""
    before = {name: os.environ.get(name) for name in (*values, *others)}
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
    """Of how many cores the control groups of this process have the time; None where they say nothing.

    Args:
        root: Where ``/proc`` and ``/sys`` are.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return None
    found: list[float] = []
    for _, controllers, path in (line.split(":", 2) for line in groups if line.count(":") >= 2):
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Version 1 has a folder for each controller, and version 2 one for all, or one beside those of version 1.
        for mounted in (controllers, "cpu") if controllers else ("", "unified"):
            top = root / "sys/fs/cgroup" / mounted
            group = top / path.lstrip("/")
            found += [quota for each in (group, *group.parents) if each.is_relative_to(top) and (quota := _quota(each))]
    return min(found, default=None)


def _quota(group: Path) -> float | None:
    """Processor time a second of one group, in seconds."""
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
    """What ``work`` makes of each item, in order.

    Args:
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
        items: Taken a little ahead of what is yielded.
        cores: By default all that the process may use.
    """
    with _one_core_a_thread():
        yield from in_threads(work, items, threads=cores)


_lock = threading.Lock()
_users = 0
_threads_before: int | None = None


@contextmanager
def _one_core_a_thread() -> Iterator[None]:
    """PyTorch's number of threads is that of the process: the first user lowers it, the last one puts it back.

    Nothing is done where PyTorch has not been imported.
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
