"""Some jobs at a time, each in a process of its own; one that fails does not stop the others, and none outlives us.

A job is ended at once where we are interrupted or killed: the next run goes on with what it has written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from iconotext.corpus.child import Child, GoneError, speaking
from iconotext.errors import IconotextError
from iconotext.features.cores import environment, thread_shares, usable_cores

Message = tuple[str, tuple[Any, ...]]
"""``step``, ``epoch`` or ``ended`` with what ``Watch`` is told but for the key."""

Send = Callable[[Message], object]


class Watch(Protocol):
    """Shows to somebody how the jobs go on; ``key`` says which one."""

    def started(self, key: str) -> None:
        """Its process begins."""

    def step(self, key: str, epoch: int, step: int, steps: int, loss: float) -> None:
        """Now and then."""

    def epoch(self, key: str, row: Mapping[str, float | None]) -> None:
        """After each epoch, with its row of the log."""

    def ended(self, key: str, problem: str | None) -> None:
        """It is done, or could not be."""


def default_jobs() -> int:
    """Jobs at a time: half as many as there are cores."""
    return max(1, usable_cores() // 2)


def run_jobs(
    jobs: Sequence[tuple[str, Any]], work: Callable[[Any, Send], None], *, at_once: int, logs: Path, watch: Watch
) -> dict[str, str]:
    """Run all jobs; for each that failed, why. When this is interrupted, all jobs have stopped.

    Args:
        jobs: Each with a key; they must pickle.
        work: Does a job; a function of a module, so that other processes can import it.
        logs: Folder for what the processes say on stderr; only of those that fail unexpectedly something stays.
    """
    waiting = list(reversed(jobs))
    running: dict[Child, tuple[str, Path]] = {}
    failed: dict[str, str] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                key, job = waiting.pop()
                log = logs / f"{key}.txt"
                logs.mkdir(parents=True, exist_ok=True)
                watch.started(key)
                with environment(thread_shares(at_once)):
                    running[Child(_do, job, work, log, daemon=False)] = key, log
            for child in speaking(running, 0.5):  # without a limit, Windows would not hear Ctrl-C
                key, log = running[child]
                kind, told = _heard(child, log)
                if kind == "ended":
                    del running[child]
                    if told[0] is not None:
                        failed[key] = told[0]
                getattr(watch, kind)(key, *told)
    finally:
        for child, (_, log) in running.items():
            child.close()
            log.unlink(missing_ok=True)
    return failed


def _heard(child: Child, log: Path) -> Message:
    """Receive a job's next message; ``ended`` with the reason if its process has died."""
    try:
        kind, told = child.hear()
    except GoneError as error:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
        return "ended", (f"{error}: {said[-1] if said else 'it said nothing'} (see {log})",)
    if kind == "ended":
        child.close()
        log.unlink(missing_ok=True)
    return kind, told


def _do(channel: Connection, job: Any, work: Callable[[Any, Send], None], log: Path) -> None:
    """Do the job in its process, and report how it ended."""
    errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(errors, stream)
    problem = None
    try:
        work(job, channel.send)
    except IconotextError as error:
        problem = str(error)
    channel.send(("ended", (problem,)))
