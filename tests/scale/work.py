"""What workers are given in tests."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import OutputError
from iconotext.scale.engine import answer


@dataclass(frozen=True)
class Trouble:
    """Does to numbers what the tests ask for.

    Attributes:
        folder: Where it is noted how often each was begun.
    """

    folder: Path
    die_at: tuple[int, ...] = ()
    deaths: tuple[int, ...] = ()
    large: int = -1
    full: int = -1
    fault: int = -1
    unready: bool = False

    def prepare(self) -> None:
        if self.unready:
            os.kill(os.getpid(), signal.SIGKILL)

    def run(self, number: int, /) -> tuple[int, int]:
        with (self.folder / str(number)).open("a") as file:
            file.write("x")
        begun = (self.folder / str(number)).stat().st_size
        if number in self.die_at and begun <= self.deaths[self.die_at.index(number)]:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == self.large:
            bytearray(300_000_000)
        if number == self.full:
            raise OutputError("the disk is full")
        if number == self.fault:
            raise RuntimeError("a fault")
        time.sleep(0.01)
        return number * number, begun


class Here:
    """The engine of this very process, which need not start another."""

    def __init__(self, work, *, workers, memory):
        self._work, self._memory, self._given = work, memory, []
        self._ready = False

    def room(self):
        return 1

    def give(self, item):
        self._given.append(item)

    def answers(self):
        if not self._ready:
            self._work.prepare()
            self._ready = True
        while self._given:
            item = self._given.pop()
            yield item, *answer(self._work, item, self._memory)

    def close(self):
        if folder := self._work.__dict__.get("_folder"):
            folder.cleanup()
