"""What workers are given in tests."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import OutputError


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
