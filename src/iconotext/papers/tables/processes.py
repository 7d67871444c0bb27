"""Some jobs at a time, each in a process of its own; one that fails does not stop the others, and none outlives us.

A job is ended at once where we are interrupted or killed: the next run goes on with what it has written.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol

from iconotext.corpus.in_order import end_with_parent
from iconotext.errors import IconotextError
from iconotext.features.cores import environment, thread_shares, usable_cores

Message = tuple[str, tuple[Any, ...]]
"""``step`` or ``epoch`` with what ``Watch`` is told but for the key, or ``error`` with why a job failed."""

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
    running: dict[Connection[Any, Any], _Running] = {}
    failed: dict[str, str] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                key, job = waiting.pop()
                watch.started(key)
                started = _start(key, job, work, logs / f"{key}.txt", at_once)
                running[started.channel] = started
            for channel in wait(list(running), timeout=0.5):  # without a limit, Windows would not hear Ctrl-C
                each = running[channel]  # type: ignore[index]  # wait says object, and gives what it got
                try:
                    _pass_on(each, each.channel.recv(), watch)
                except (EOFError, ConnectionError):
                    del running[each.channel]
                    problem = _end(each)
                    if problem is not None:
                        failed[each.key] = problem
                    watch.ended(each.key, problem)
    finally:
        for each in running.values():
            each.process.kill()
            each.process.join()
            each.log.unlink(missing_ok=True)
    return failed


@dataclass(slots=True)
class _Running:
    """A process that has a job; ``problem`` says why it failed, where it has said so."""

    key: str
    process: SpawnProcess
    channel: Connection[Any, Any]
    log: Path
    problem: str | None = None


def _start(key: str, job: Any, work: Callable[[Any, Send], None], log: Path, at_once: int) -> _Running:
    log.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_do, args=(job, work, theirs, log), name=key)
    with environment(thread_shares(at_once)):
        process.start()
    theirs.close()
    return _Running(key, process, ours, log)


def _pass_on(running: _Running, message: Message, watch: Watch) -> None:
    kind, arguments = message
    if kind == "error":
        (running.problem,) = arguments
    else:
        getattr(watch, kind)(running.key, *arguments)


def _end(running: _Running) -> str | None:
    """Wait for a process that has said all it had to say; what went wrong, if anything."""
    running.channel.close()
    running.process.join()
    status = running.process.exitcode or 0
    if status == 0 or running.problem:
        running.log.unlink(missing_ok=True)
        return running.problem
    if status < 0:
        return f"its process was ended by signal {-status}; {running.log} holds what it said"
    said = (
        running.log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if running.log.exists() else []
    )
    return f"its process ended with status {status}: {said[-1] if said else 'it said nothing'} (see {running.log})"


def _do(job: Any, work: Callable[[Any, Send], None], channel: Connection[Any, Any], log: Path) -> None:
    """In the process: do the job; the exit status is 1 after an error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us, and they end us
    end_with_parent()
    errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(errors, stream)
    try:
        work(job, channel.send)
        os._exit(0)  # whatever threads its libraries have left
    except IconotextError as error:
        channel.send(("error", (str(error),)))
        os._exit(1)
