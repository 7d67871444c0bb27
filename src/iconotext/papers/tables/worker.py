"""One row of a table in a process of its own: train the model, score the test documents, tell how it goes on.

``python -m iconotext.papers.tables.worker`` reads its job, a line of JSON, from standard input, and writes lines of
JSON to standard output. When standard input ends, because whoever started it has ended, it stops too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from iconotext.errors import IconotextError
from iconotext.recipe import Recipe, dump_recipe, make_recipe

OFTEN = 0.2
"""Seconds between two steps that are told."""

PATIENCE = 8.0
"""Seconds that training has to end in good order when it is to stop."""

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared

APPLIED = "applied"
"""Folder within the model's, where another corpus lies while it is scored."""

Send = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done.

    Attributes:
        recipe: The resolved recipe, as TOML.
        corpora: Corpus files.
        prepared: Folder of the prepared corpus.
        folder: Of the model.
        results: Parquet file for the scores of the test documents; None to train only.
        about: What is written into it.
        applied: Corpus file that the test documents are from; None where it is the one that is trained on.
    """

    recipe: str
    corpora: list[str]
    prepared: str
    folder: str
    results: str | None
    about: dict[str, Any]
    applied: str | None = None

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        corpora: list[Path],
        *,
        prepared: Path,
        folder: Path,
        results: Path | None,
        about: dict[str, Any],
        applied: str | None = None,
    ) -> Job:
        """A job that can be sent."""
        files = [str(path) for path in corpora]
        places = str(prepared), str(folder), None if results is None else str(results)
        return cls(dump_recipe(recipe), files, *places, about, applied)

    def line(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self)) + "\n"


class _Teller:
    """Tells whoever started the process how training goes on."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._told = 0.0

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """A step now and then."""
        now = time.monotonic()
        if now - self._told >= OFTEN:
            self._told = now
            self._send({"step": [epoch, step, steps, loss]})

    def epoch(self, row: dict[str, float | None]) -> None:
        """Every epoch."""
        self._send({"epoch": row})


def work(job: Job, send: Send) -> None:
    """Train the model, or go on, then score the test documents if they are wanted.

    Raises:
        IconotextError: See ``train``.
    """
    import torch

    from iconotext.embed.folder import load_model
    from iconotext.evaluate.results import Results, write_results
    from iconotext.train.prepared import open_prepared
    from iconotext.train.run import train
    from iconotext.train.validate import evaluate_split

    recipe = make_recipe(tomllib.loads(job.recipe), source="recipe")
    corpora, folder = [Path(path) for path in job.corpora], Path(job.folder)
    train(recipe, corpora, folder, prepared=Path(job.prepared), watcher=_Teller(send))
    if job.results is None:
        return
    stored = load_model(folder)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    own = open_prepared(Path(job.prepared)) if job.applied is None else _applied(recipe, Path(job.applied), folder)
    evaluation = evaluate_split(stored.model.to(device), own, recipe, "test", device)
    assert evaluation is not None  # was looked at before
    write_results(Results(evaluation, job.about), Path(job.results), force=True)
    shutil.rmtree(folder / APPLIED, ignore_errors=True)


def _applied(recipe: Recipe, corpus: Path, folder: Path) -> Prepared:
    """Another corpus in the words that a trained model knows."""
    from iconotext.train.prepare import lock_of, prepare

    prepared = prepare(recipe.model_copy(update={"init": str(folder)}), [corpus], folder / APPLIED)
    lock_of(folder / APPLIED).unlink(missing_ok=True)
    return prepared


def end_with(stream: TextIO) -> None:
    """Interrupt this process when a stream ends. To be called from the main thread."""

    def wait() -> None:
        while stream.readline():
            pass
        _interrupt()
        time.sleep(PATIENCE)
        os._exit(130)

    # Where a shell script started us in the background we have inherited that interruptions are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=wait, daemon=True, name="iconotext-parent").start()


def _interrupt() -> None:
    """Raise KeyboardInterrupt in the main thread, also while it waits."""
    import _thread

    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:  # Windows, where this wakes nothing that waits
        _thread.interrupt_main()


def main() -> int:
    """Do the job on standard input; the exit status is 0, 1 after an error that was told, 130 after an interruption."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what libraries print is no message

    def send(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=channel, flush=True)

    try:
        job = Job(**json.loads(sys.stdin.readline()))
        end_with(sys.stdin)
        work(job, send)
    except IconotextError as error:
        send({"error": str(error)})
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the thread that waits for standard input holds its lock
