"""The engine for one machine: processes, each with one shard at a time.

If a process dies, only its shard is affected, which is tried again in another one. Workers end with the program, even
if it is killed.
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from typing import Any, Generic

from iconotext.corpus.in_order import end_with_parent
from iconotext.errors import IconotextError
from iconotext.features.cores import environment, thread_shares
from iconotext.scale.engine import Item, Outcome, Work, answer, prepared


@dataclass(slots=True, eq=False)
class _Worker(Generic[Item]):
    process: BaseProcess
    pipe: Connection
    ready: bool = False
    item: Item | None = None


class Processes(Generic[Item]):
    """Processes, started as needed. See ``Engine``.

    Args:
        work: The work on each item.
        memory: Bytes of address space that a process may take in addition to what the prepared work needs.
    """

    def __init__(self, work: Work[Item, Any], *, workers: int, memory: int) -> None:
        self._work, self._workers, self._memory = work, workers, memory
        self._running: list[_Worker[Item]] = []
        self._scratch = TemporaryDirectory(
            prefix="iconotext-", ignore_cleanup_errors=True
        )  # temporary files, also of killed processes

    def room(self) -> int:
        """See ``Engine``."""
        return self._workers

    def give(self, item: Item, /) -> None:
        """See ``Engine``."""
        worker = next((each for each in self._running if each.item is None), None) or self._started()
        worker.item = item
        with suppress(OSError):  # it has died meanwhile, which ``wait`` reports
            worker.pipe.send(item)

    def answers(self) -> Iterator[tuple[Item, Outcome, Any]]:
        """See ``Engine``."""
        told = wait([worker.pipe for worker in self._running])
        for worker in [each for each in self._running if each.pipe in told]:
            item = worker.item
            try:
                outcome, value = worker.pipe.recv()
            except (EOFError, OSError):
                self._running.remove(worker)
                _end(worker)
                outcome, value = "failed" if worker.ready else "unready", _death(worker.process)
            if outcome == "ready":
                worker.ready = True
            elif item is not None:
                worker.item = None
                yield item, outcome, value

    def close(self) -> None:
        """See ``Engine``."""
        for worker in self._running:
            _end(worker)
        self._scratch.cleanup()

    def _started(self) -> _Worker[Item]:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of ours hold
        ours, theirs = context.Pipe()
        arguments = (theirs, self._work, self._memory, self._scratch.name)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        with environment(thread_shares(self._workers)):
            process.start()
        theirs.close()
        self._running.append(_Worker(process, ours))
        return self._running[-1]


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
    """Main loop of a worker."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main program handles Ctrl-C
    tempfile.tempdir = scratch
    try:
        prepared(work, memory)
    except IconotextError as error:
        pipe.send(("error", error))
        return
    pipe.send(("ready", None))
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        pipe.send(answer(work, item, memory))
