"""The loop over shards that every engine runs: who is given what, what is begun again, and when the run ends."""

from __future__ import annotations

import gc
import os
import traceback
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from tempfile import gettempdir
from typing import Any, Literal, Protocol, TypeVar

from iconotext.errors import IconotextError
from iconotext.worker import limit_memory
from iconotext.write import reporting_full_disk

Item = TypeVar("Item", bound=Hashable)
Taken = TypeVar("Taken", contravariant=True)
Result = TypeVar("Result")
Made = TypeVar("Made", covariant=True)

Outcome = Literal["done", "failed", "error", "unready"]
"""What came of an item: its result; why it failed, alone; the error that every item would meet; or the death of a
worker that was not ready yet, of which the item is innocent."""


NO_MEMORY = ("bad_alloc", "failed to map segment", "Cannot allocate memory")
"""What libraries say that get no more memory, most often as they are imported."""

NO_THREAD = "can't start new thread"
"""What Python says where there is no memory for one, or the system allows no more."""


class Work(Protocol[Taken, Made]):
    """What is done with each item; must pickle."""

    def prepare(self) -> None:
        """Load what all items need; once in a process."""

    def run(self, item: Taken, /) -> Made:
        """Do it."""


def prepared(work: Work[Any, Any], memory: int) -> None:
    """Load what all items need, and let this process take so much memory beyond that.

    What was loaded is no garbage, and what items leave behind hardly ever: to look for it as often as Python does took
    a sixteenth of the time of linking from the cache.
    """
    work.prepare()
    gc.freeze()
    gc.set_threshold(50_000)
    limit_memory(memory)


class Engine(Protocol[Item]):
    """Workers somewhere, each of which prepares the work once."""

    def room(self) -> int:
        """How many items may be given at a time, now."""

    def give(self, item: Item, /) -> None:
        """Let a worker begin an item; at once, or when one is free."""

    def answers(self) -> Iterable[tuple[Item, Outcome, Any]]:
        """Wait for the workers; what came of some of the items that were given, maybe of none."""

    def close(self) -> None:
        """End what was begun, and the workers."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What became of an item that was begun too often."""

    reason: str


def worked(items: Iterable[Item], engine: Engine[Item], *, tries: int) -> Iterator[tuple[Item, Any]]:
    """Each item with the result of work on it, or ``Lost``, as they come.

    Args:
        items: Taken as workers are free. They and the results must pickle.
        tries: How often an item is begun.

    Raises:
        IconotextError: One that work raised: another item would meet it, too. Or no worker can be started.
    """
    to_do, again = iter(items), deque[Item]()
    begun = Counter[Item]()
    given = unready = 0
    while True:
        while given < engine.room():
            item = again.popleft() if again else next(to_do, None)
            if item is None:
                break
            begun[item] += 1
            given += 1
            engine.give(item)
        if not given:
            return
        for item, outcome, value in engine.answers():
            given -= 1
            if outcome == "error":
                raise value
            if outcome == "unready":
                unready += 1
                if unready > tries:
                    raise IconotextError(f"the processes that link shards die as they start: {value}")
                begun[item] -= 1
                again.append(item)
                continue
            unready = 0
            if outcome == "failed" and begun[item] < tries:
                again.append(item)
                continue
            del begun[item]
            yield item, value if outcome == "done" else Lost(f"{value}, {tries} times" if tries > 1 else value)


def answer(work: Work[Item, Any], item: Item, memory: int) -> tuple[Outcome, Any]:
    """What a worker says of an item, once the work is prepared and memory limited."""
    try:
        with reporting_full_disk(gettempdir()):  # which another item would find as full
            return "done", work.run(item)
    except Exception as error:
        took = f"it took more than {memory / 1e9:g} GB beyond its models"
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in NO_MEMORY):
            return "failed", f"set memory higher (4 by default): {took}"
        if NO_THREAD in str(error):
            return "failed", f"no more threads: the system allows no more (ulimit -u), or set memory higher: {took}"
        if isinstance(error, IconotextError):
            return "error", error
        # a fault of ours in one shard must not stop the others
        last = traceback.extract_tb(error.__traceback__)[-1]
        return "failed", f"{type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})"
