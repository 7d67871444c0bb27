"""The engine for one machine: processes, each with one shard at a time.

If a process dies, only its shard is affected, which is tried again in another one. Workers end with the program, even
if it is killed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory
from typing import Any, Generic

from iconotext.corpus.child import Child, GoneError, speaking
from iconotext.errors import IconotextError
from iconotext.features.cores import environment, thread_shares
from iconotext.scale.engine import Item, Outcome, Work, answer, prepared


class Processes(Generic[Item]):
    """Processes, started as needed. See ``Engine``.

    Args:
        work: The work on each item.
        memory: Bytes of address space that a process may take in addition to what the prepared work needs.
    """

    def __init__(self, work: Work[Item, Any], *, workers: int, memory: int) -> None:
        self._work, self._workers, self._memory = work, workers, memory
        self._running: dict[Child, Item | None] = {}
        self._ready: set[Child] = set()
        self._scratch = TemporaryDirectory(
            prefix="iconotext-", ignore_cleanup_errors=True
        )  # temporary files, also of killed processes

    def room(self) -> int:
        """See ``Engine``."""
        return self._workers

    def give(self, item: Item, /) -> None:
        """See ``Engine``."""
        child = next((each for each, at_work in self._running.items() if at_work is None), None)
        if child is None:
            with environment(thread_shares(self._workers)):
                child = Child(_serve, self._work, self._memory, self._scratch.name)
        self._running[child] = item
        child.tell(item)

    def answers(self) -> Iterator[tuple[Item, Outcome, Any]]:
        """See ``Engine``."""
        for child in speaking(self._running):
            item = self._running.pop(child)
            try:
                outcome, value = child.hear()
            except GoneError as error:
                outcome, value = "failed" if child in self._ready else "unready", str(error)
            else:
                self._running[child] = item if outcome == "ready" else None
                self._ready.add(child)
            if outcome != "ready" and item is not None:
                yield item, outcome, value

    def close(self) -> None:
        """See ``Engine``."""
        for child in self._running:
            child.close()
        self._scratch.cleanup()


def _serve(pipe: Connection, work: Work[Any, Any], memory: int, scratch: str) -> None:
    """Main loop of a worker."""
    tempfile.tempdir = scratch
    try:
        prepared(work, memory)
    except IconotextError as error:
        pipe.send(("error", error))
        return
    pipe.send(("ready", None))
    while True:
        pipe.send(answer(work, pipe.recv(), memory))
