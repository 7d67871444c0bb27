"""The pool of processes that read and link for the server (``Pool``): it refuses calls when too many are waiting."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from iconotext.errors import IconotextError
from iconotext.system.files import reporting_full_disk
from iconotext.system.processes import Child, GoneError, ProcessPool, UnreadyError

P = ParamSpec("P")
Result = TypeVar("Result")

MAX_WAITING = 64
"""Calls that may wait for a process."""


class BusyError(IconotextError):
    """Too many calls are waiting."""


class Pool(ProcessPool):
    """A pool whose processes start before the first call; if too many calls wait, a further one is refused.

    The results of ``submit`` raise ``IconotextError``, also for a bug of the function.
    """

    def __init__(self, processes: int, prepare: Callable[[Any], None] | None = None, settings: Any = None) -> None:
        super().__init__(processes, prepare, settings)
        self.start(processes)

    def check(self) -> None:
        """Raise ``BusyError`` if no further call may wait."""
        if self.waiting >= MAX_WAITING:
            raise BusyError("too much is waiting already: try again in a minute")

    def submit(
        self, function: Callable[P, Result], seconds: float | None, /, *arguments: P.args, **_: P.kwargs
    ) -> Future[Result]:
        """See ``ProcessPool``; raises ``BusyError`` if too many calls are waiting."""
        self.check()
        return super().submit(_answer, seconds, function, *arguments)

    def _start(self, call: Any = None) -> Child:
        try:
            return super()._start(call)
        except UnreadyError as error:
            raise GoneError(f"the process that links cannot be started: {error}") from None
        except Exception as error:
            raise GoneError(str(error)) from None


def _answer(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a process of the pool."""
    try:
        with reporting_full_disk("a file of the server"):
            return function(*arguments)
    except IconotextError:
        raise
    except Exception as error:
        raise GoneError(f"a bug of iconotext: {error!r}") from error
