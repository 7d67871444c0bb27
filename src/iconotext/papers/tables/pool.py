"""Some jobs at a time, each in a process of its own; one that fails does not stop the others, and none outlives us."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from iconotext.features.cores import usable_cores
from iconotext.papers.tables.worker import PATIENCE, Job

COMMAND = (sys.executable, "-m", "iconotext.papers.tables.worker")

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Watch(Protocol):
    """Is told how the jobs go on, to show it to someone; ``key`` says which one."""

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


def job_environment(at_once: int) -> dict[str, str]:
    """The environment of a job: it gets its share of the cores, or what the user's own environment says, if less."""
    environment = dict(os.environ)
    own = [int(value) for name in THREADS if (value := environment.get(name, "")).isdigit() and int(value)]
    share = min([max(1, usable_cores() // at_once), *own])
    # All alike: where one library has more threads than another, they wait for each other.
    return environment | dict.fromkeys(THREADS, str(share))


class _Running:
    """A process that has a job."""

    def __init__(self, key: str, job: Job, log: Path, at_once: int, messages: queue.Queue[tuple[str, Any]]) -> None:
        self.key, self.log, self.problem = key, log, ""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=job_environment(at_once),
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for us; we tell them
            )
        with contextlib.suppress(BrokenPipeError):  # it ended at once, which shows below
            self._input.write(job.line())
            self._input.flush()
        threading.Thread(target=self._read, args=(messages,), daemon=True).start()

    @property
    def _input(self) -> Any:
        return self.process.stdin

    def _read(self, messages: queue.Queue[tuple[str, Any]]) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # closed meanwhile
            for line in self.process.stdout:
                messages.put((self.key, json.loads(line)))
        messages.put((self.key, None))

    def end(self) -> str | None:
        """Wait for the process, which has said all it had to say; what went wrong, if anything."""
        status = self.process.wait()
        self.close()
        if status == 0:
            self.log.unlink(missing_ok=True)
            return None
        if self.problem:
            self.log.unlink(missing_ok=True)
            return self.problem
        said = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if status < 0:
            return f"its process was ended by signal {-status}; {self.log} holds what it said"
        return f"its process ended with status {status}: {said[-1] if said else 'it said nothing'} (see {self.log})"

    def ask_to_stop(self) -> None:
        """It stops when its standard input ends."""
        with contextlib.suppress(OSError):
            self._input.close()

    def stop(self, deadline: float) -> None:
        """Wait until it has stopped, and end it after the deadline."""
        try:
            self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the pipes."""
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def run_jobs(jobs: Sequence[tuple[str, Job]], *, at_once: int, logs: Path, watch: Watch) -> dict[str, str]:
    """Run all jobs.

    Args:
        jobs: Each with a key.
        at_once: How many run at a time.
        logs: Folder for what the processes say on stderr; only of those that fail unexpectedly something stays.
        watch: Told how it goes on.

    Returns:
        For each job that failed, why. When this is interrupted, all jobs have stopped.
    """
    messages: queue.Queue[tuple[str, Any]] = queue.Queue()
    waiting = list(reversed(jobs))
    running: dict[str, _Running] = {}
    failed: dict[str, str] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                key, job = waiting.pop()
                watch.started(key)
                running[key] = _Running(key, job, logs / f"{key}.txt", at_once, messages)
            try:
                key, message = messages.get(timeout=0.5)  # without a limit, Windows would not hear Ctrl-C
            except queue.Empty:
                continue
            if message is None:
                problem = running.pop(key).end()
                if problem is not None:
                    failed[key] = problem
                watch.ended(key, problem)
            elif "step" in message:
                watch.step(key, *message["step"])
            elif "epoch" in message:
                watch.epoch(key, message["epoch"])
            else:
                running[key].problem = message["error"]
    finally:
        for each in running.values():
            each.ask_to_stop()
        deadline = time.monotonic() + PATIENCE + 2
        for each in running.values():
            each.stop(deadline)
    return failed
