"""The engine of one machine: processes, each with a shard at a time.

A process that dies takes nothing with it but its shard, which is begun again elsewhere. Workers end with the program,
also where that is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import traceback
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from typing import Any, Generic, Protocol, TypeVar

from iconotext.corpus.in_order import end_with_parent
from iconotext.errors import IconotextError
from iconotext.features.cores import THREADS, usable_cores
from iconotext.worker import limit_memory

Item = TypeVar("Item", bound=Hashable)
Taken = TypeVar("Taken", contravariant=True)
Result = TypeVar("Result")
Made = TypeVar("Made", covariant=True)


OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables by which libraries of arrays know how many threads to use: read once, when they are first imported. Left
alone, each worker would use all cores, and its threads would wait for those of the others."""


class Work(Protocol[Taken, Made]):
    """What is done with each item; must pickle."""

    def prepare(self) -> None:
        """Load what all items need; once in a process."""

    def run(self, item: Taken, /) -> Made:
        """Do it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What became of an item that was begun too often.

    Attributes:
        reason: What happened the last time.
    """

    reason: str


@dataclass(slots=True, eq=False)
class _Worker(Generic[Item]):
    process: BaseProcess
    pipe: Connection
    ready: bool = False
    item: Item | None = None


def in_processes(
    items: Iterable[Item], work: Work[Item, Result], *, workers: int, memory: int, tries: int
) -> Iterator[tuple[Item, Result | Lost]]:
    """Each item with the result of work on it, as they come.

    Args:
        items: Taken as workers are free. They and the results must pickle.
        work: What is done with each.
        workers: Processes.
        memory: Bytes of address space that a process may take beyond what it has when it is prepared.
        tries: How often an item is begun.

    Raises:
        IconotextError: One that work raised: another item would meet it, too. Or no worker can be started.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of ours hold
    threads = max(1, usable_cores() // workers)
    to_do, again = iter(items), deque[Item]()
    begun: dict[Item, int] = {}
    running: list[_Worker[Item]] = []
    starts = 0

    def start() -> _Worker[Item]:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, work, memory, scratch.name), daemon=True)
        with _variables(dict.fromkeys((THREADS, *OF_LIBRARIES), str(threads))):
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def give(worker: _Worker[Item]) -> bool:
        worker.item = again.popleft() if again else next(to_do, None)
        if worker.item is None:
            return False
        begun[worker.item] = begun.get(worker.item, 0) + 1
        with suppress(OSError):  # it has died meanwhile, which ``wait`` tells
            worker.pipe.send(worker.item)
        return True

    def failed(item: Item, reason: str) -> Iterator[tuple[Item, Lost]]:
        if begun[item] < tries:
            again.append(item)
        else:
            begun.pop(item)
            yield item, Lost(f"{reason}, {tries} times" if tries > 1 else reason)

    scratch = TemporaryDirectory(prefix="iconotext-")  # a process that is killed leaves what it had there
    try:
        first = [item for _, item in zip(range(workers), to_do, strict=False)]
        again.extend(first)
        running = [start() for _ in first]
        while running:
            told = wait([worker.pipe for worker in running])
            for worker in [each for each in running if each.pipe in told]:
                try:
                    kind, value = worker.pipe.recv()
                except (EOFError, OSError):
                    running.remove(worker)
                    _end(worker)
                    if not worker.ready:
                        starts += 1
                        if starts > tries:
                            raise IconotextError("the processes that link shards die as they start") from None
                    elif worker.item is not None:
                        yield from failed(worker.item, _death(worker.process))
                    if again:
                        running.append(start())
                    continue
                if kind == "error":
                    raise value
                item, worker.item = worker.item, None
                if kind == "ready":
                    worker.ready, starts = True, 0
                elif item is not None and kind == "failed":
                    yield from failed(item, value)
                elif item is not None:
                    begun.pop(item)
                    yield item, value
                if not give(worker):
                    running.remove(worker)
                    _end(worker)
    finally:
        for worker in running:
            _end(worker)
        scratch.cleanup()


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment, which a process that is started meanwhile finds."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end(worker: _Worker[Any]) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _death(process: BaseProcess) -> str:
    code = process.exitcode
    return (
        f"its process was killed by signal {-code}" if code is not None and code < 0 else f"its process ended ({code})"
    )


def _serve(pipe: Connection, work: Work[Any, Any], memory: int, scratch: str) -> None:
    """What a worker does."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program says what follows
    tempfile.tempdir = scratch
    try:
        work.prepare()
    except IconotextError as error:
        pipe.send(("error", error))
        return
    limit_memory(memory)
    pipe.send(("ready", None))
    answer: tuple[str, Any]
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        try:
            answer = "done", work.run(item)
        except IconotextError as error:
            answer = "error", error
        except MemoryError:
            answer = "failed", f"took more than {memory / 1e9:g} GB beyond its models"
        except Exception as error:  # a fault of ours in one shard must not stop the others
            last = traceback.extract_tb(error.__traceback__)[-1]
            answer = "failed", f"{type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})"
        pipe.send(answer)
