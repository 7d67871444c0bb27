"""Engines: the loop that gives shards to workers and tries failed ones again, and the engine of local processes."""

from __future__ import annotations

import gc
import os
import tempfile
import traceback
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from iconotext.errors import IconotextError
from iconotext.system.files import reporting_full_disk
from iconotext.system.processes import GoneError, ProcessPool, UnreadyError
from iconotext.system.threads import thread_shares
from iconotext.system.worker import limit_memory


class EngineSettings(BaseModel):
    """The processes that do the work. These settings do not change the result."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    engine: Literal["local", "ray"] = "local"
    """``local``, processes of this machine; ``ray``, tasks of Ray, on a cluster or on this machine. The result is the
    same."""

    address: str | None = None
    """Address of a cluster of Ray (default: RAY_ADDRESS, else one is started on this machine for the time of the run).
    Shards and results must then be in a store, or in folders that all its machines have at the same paths."""

    workers: int | None = Field(None, ge=1)
    """Processes, each with a shard at a time (default: one a core, also of a cluster that grows); the result is the
    same for any number."""

    memory: float = Field(4.0, gt=0)
    """Gigabytes of address space that a process may take besides its models; a shard that needs more is left out."""

    tries: int = Field(3, ge=1)
    """How often a shard is begun whose process dies, before it is left out."""


Item = TypeVar("Item", bound=Hashable)
Taken = TypeVar("Taken", contravariant=True)
Result = TypeVar("Result")
Made = TypeVar("Made", covariant=True)

Outcome = Literal["done", "failed", "error", "unready"]
"""``done``: the value is the result. ``failed``: only this item failed; the value is the reason as text. ``error``:
every item would fail; the value is the exception. ``unready``: the worker died while starting, before it began the
item; the value is the reason as text.
"""

NO_MEMORY = ("bad_alloc", "failed to map segment", "Cannot allocate memory")
"""Parts of error messages of libraries that cannot get memory, most often while they are imported."""

NO_THREAD = "can't start new thread"
"""Python's message when memory or the system's limit allows no further thread."""


class Work(Protocol[Taken, Made]):
    """The work on each item; must be picklable."""

    def prepare(self) -> None:
        """Load everything that is common to all items; called once in each process."""

    def run(self, item: Taken, /) -> Made:
        """Work on one item."""


def prepared(work: Work[Any, Any], memory: int) -> None:
    """Call ``work.prepare``, then limit this process to ``memory`` further bytes.

    Garbage collection then ignores the loaded objects and runs rarely: with Python's defaults it took a sixteenth of
    the time of linking from the cache.
    """
    work.prepare()
    gc.freeze()
    gc.set_threshold(50_000)
    limit_memory(memory)


class Engine(Protocol[Item]):
    """A set of workers, local or remote; each prepares the work once."""

    def room(self) -> int:
        """The number of items that the workers can hold at present."""

    def give(self, item: Item, /) -> None:
        """Hand an item to a worker, at once or as soon as one is free."""

    def answers(self) -> Iterable[tuple[Item, Outcome, Any]]:
        """Wait for the workers; yields the outcomes of some of the given items, maybe of none."""

    def close(self) -> None:
        """Stop the workers, also those that are in the middle of an item."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Takes the place of a result, for an item that failed in every try."""

    reason: str


def worked(items: Iterable[Item], engine: Engine[Item], *, tries: int) -> Iterator[tuple[Item, Any]]:
    """Yield each item with its result, or with ``Lost`` after some tries, in the order in which they are finished.

    Items are taken as workers become free; they and their results must be picklable.

    Raises:
        IconotextError: The work raised an error that every item would meet, or workers die as they start.
    """
    new, again = iter(items), deque[Item]()
    begun = Counter[Item]()  # tries of each unfinished item
    submitted = unready = 0
    while True:
        while submitted < engine.room() and (item := again.popleft() if again else next(new, None)) is not None:
            begun[item] += 1
            submitted += 1
            engine.give(item)
        if not submitted:
            return
        for item, outcome, value in engine.answers():
            submitted -= 1
            if outcome == "error":
                raise value
            unready = unready + 1 if outcome == "unready" else 0  # deaths at the start, one after the other
            if unready > tries:
                raise IconotextError(f"the processes that link shards die as they start: {value}")
            if outcome == "unready":
                begun[item] -= 1  # the worker died before it began the item, so this was no try
                again.append(item)
            elif outcome == "failed" and begun[item] < tries:
                again.append(item)
            else:
                del begun[item]
                yield item, value if outcome == "done" else Lost(f"{value}, {tries} times" if tries > 1 else value)


def answer(work: Work[Item, Any], item: Item, memory: int) -> tuple[Outcome, Any]:
    """Run the work on an item, in a worker that ``prepared`` has set up; ``done``, ``failed`` or ``error``."""
    try:
        with reporting_full_disk(gettempdir()):  # every item would find the disk full
            return "done", work.run(item)
    except Exception as error:
        took = f"it took more than {memory / 1e9:g} GB beyond its models"
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_MEMORY):
            return "failed", f"set memory higher (4 by default): {took}"
        if NO_THREAD in str(error):
            return "failed", f"no more threads: the system allows no more (ulimit -u), or set memory higher: {took}"
        if isinstance(error, IconotextError):
            return "error", error
        # an unexpected error in one shard must not stop the others
        last = traceback.extract_tb(error.__traceback__)[-1]
        return "failed", f"{type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})"


class Processes(Generic[Item]):
    """An engine of local processes, started as needed. See ``Engine``.

    Each may take ``memory`` bytes of address space in addition to the needs of the prepared work.
    """

    def __init__(self, work: Work[Item, Any], *, workers: int, memory: int) -> None:
        self._workers, self._submitted = workers, dict[Future[tuple[Outcome, Any]], Item]()
        self._scratch = TemporaryDirectory(
            prefix="iconotext-", ignore_cleanup_errors=True
        )  # temporary files, also of killed processes
        settings = work, memory, self._scratch.name
        self._pool = ProcessPool(workers, _prepare, settings, variables=thread_shares(workers))

    def room(self) -> int:
        """See ``Engine``."""
        return self._workers

    def give(self, item: Item, /) -> None:
        """See ``Engine``."""
        self._submitted[self._pool.submit(_answer, None, item)] = item

    def answers(self) -> Iterator[tuple[Item, Outcome, Any]]:
        """See ``Engine``."""
        for future in wait(self._submitted, return_when=FIRST_COMPLETED).done:
            item = self._submitted.pop(future)
            try:
                outcome, value = future.result()
            except GoneError as error:
                outcome, value = "unready" if isinstance(error, UnreadyError) else "failed", str(error)
            except IconotextError as error:
                outcome, value = "error", error
            yield item, outcome, value

    def close(self) -> None:
        """See ``Engine``."""
        self._pool.close()
        self._scratch.cleanup()


_work: tuple[Work[Any, Any], int] | None = None
"""The state of a process of ``Processes``: its prepared work, and the memory that it may take."""


def _prepare(settings: tuple[Work[Any, Any], int, str]) -> None:
    global _work
    work, memory, tempfile.tempdir = settings
    prepared(work, memory)
    _work = work, memory


def _answer(item: Any) -> tuple[Outcome, Any]:
    assert _work is not None  # prepared before the first item
    work, memory = _work
    return answer(work, item, memory)
