"""The training runs of a table, one for each row and seed, and the prepared corpora that they share."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from iconotext.errors import CollapseError, IconotextError
from iconotext.papers.tables.folder import Run
from iconotext.papers.tables.rows import Row
from iconotext.recipe import FeatureSettings, Recipe
from iconotext.recipe.encoders import GRUSettings, NetworkSettings, ProjectionSettings
from iconotext.system.processes import Child, GoneError, speaking
from iconotext.system.threads import environment, thread_shares, usable_cores
from iconotext.train.prepare import Report, prepare, prepared_key

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared


OFTEN = 0.2
"""Seconds between two steps that are reported."""

APPLIED = "applied"
"""Folder in a model's folder for another corpus, while the model is applied to it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A training run with its evaluation.

    Attributes:
        results: File for the results on the test documents.
        losses: Whether the loss on the test documents is measured, too.
        applied: Corpus file of the test documents; None if it is the corpus of training.
    """

    recipe: Recipe
    corpus: Path
    prepared: Path
    folder: Path
    kind: Literal["links", "retrieval"]
    results: Path
    about: Mapping[str, Any]
    losses: bool = False
    applied: Path | None = None


def work(job: Job, send: Send) -> None:
    """Train the model, continue its training, or do nothing for a trained one; then measure it."""
    from iconotext.train.parallel import Forwarded
    from iconotext.train.prepared import open_prepared
    from iconotext.train.run import train

    with contextlib.suppress(CollapseError):  # the table measures it, and marks it
        train(job.recipe, [job.corpus], job.folder, prepared=job.prepared, watcher=Forwarded(send, OFTEN))
    scored = open_prepared(job.prepared) if job.applied is None else _applied(job.recipe, job.applied, job.folder)
    if job.kind == "links":
        from iconotext.papers.tables.links import score_links

        score_links(job.folder, scored, job.results, job.about, losses=job.losses)
    else:
        from iconotext.papers.tables.retrieval import score_retrieval

        score_retrieval(job.folder, scored, job.results)
    shutil.rmtree(job.folder / APPLIED, ignore_errors=True)


def _applied(recipe: Recipe, corpus: Path, folder: Path) -> Prepared:
    """Encode another corpus with the vocabulary of a trained model."""
    from iconotext.train.prepare import lock_of, prepare

    prepared = prepare(recipe.model_copy(update={"init": str(folder)}), [corpus], folder / APPLIED)
    lock_of(folder / APPLIED).unlink(missing_ok=True)
    return prepared


Message = tuple[str, tuple[Any, ...]]
"""``step``, ``epoch`` or ``ended``, with the arguments of the method of ``Watch`` except the key."""

Send = Callable[[Message], object]


class Watch(Protocol):
    """Shows the progress of the jobs; ``key`` names the job."""

    def started(self, key: str) -> None:
        """Called when the job's process begins."""

    def step(self, key: str, epoch: int, step: int, steps: int, loss: float) -> None:
        """Called from time to time."""

    def epoch(self, key: str, row: Mapping[str, float | None]) -> None:
        """Called after each epoch, with its row of the log."""

    def ended(self, key: str, problem: str | None) -> None:
        """Called when the job is done, or with the problem that ended it."""


def default_jobs() -> int:
    """Return the number of jobs at a time: half as many as there are cores."""
    return max(1, usable_cores() // 2)


def run_jobs(
    jobs: Sequence[tuple[str, Any]], work: Callable[[Any, Send], None], *, at_once: int, logs: Path, watch: Watch
) -> dict[str, str]:
    """Run all jobs, and return the reasons of those that failed. If it is interrupted, all jobs have stopped."""
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


ARRAYS = "prepared"
"""Folder of the prepared corpus or, if rows read different features, of a folder for each."""


class Arrays:
    """The prepared corpora of a table: rows share one if they read the same features of the same corpus.

    Attributes:
        keys: Keys of all corpora that the paper's rows read, in their order; part of the state of the table's folder.
    """

    def __init__(
        self, rows: Sequence[Row], corpora: Callable[[Row], Path], folder: Path, report: Report | None
    ) -> None:
        """Find out which rows can share, by the corpora that they are trained on."""
        self._corpora, self._folder, self._report = corpora, folder, report
        recipes = {row.key: (row.recipe, corpora(row)) for row in rows if row.recipe is not None}
        self._first_seeds = {key: recipe for key, (recipe, _) in recipes.items()}
        keys = {row: prepared_key(recipe, [corpus]) for row, (recipe, corpus) in recipes.items()}
        self.keys = list(dict.fromkeys(keys[row.key] for row in rows if row.key in keys and not row.extra))
        self._folders = {row: folder / self._name(key) for row, key in keys.items()}

    def _name(self, key: str) -> str:
        if key not in self.keys:  # of a row that may come later: the folders of the others stay where they are
            return f"{ARRAYS}-{key[:12]}"
        return ARRAYS if len(self.keys) == 1 else f"{ARRAYS}/{key[:12]}"

    def plain(self, run: Run) -> Prepared:
        """Return the corpus for rows without training: without features, unless it was prepared for the run before."""
        if self._folders[run.row.key].is_dir():
            return self.of(run)
        table = run.recipe.features.image.endswith(".npy")
        update = {
            "features": FeatureSettings(image=run.recipe.features.image if table else "pixels"),
            "text": run.recipe.words or GRUSettings(),
            "image": ProjectionSettings() if table else NetworkSettings(),
        }
        recipe = run.recipe.model_copy(update=update)
        return prepare(recipe, [self._corpora(run.row)], self._folder / f"{ARRAYS}-plain", report=self._report)

    def of(self, run: Run) -> Prepared:
        """Return the corpus in the form that a run reads, encoded if necessary.

        If the seed decides which documents of the corpus are for validation, runs of other seeds have separate arrays.
        """
        corpora, shared = [self._corpora(run.row)], self._folders[run.row.key]
        own = self._first_seeds[run.row.key]
        first = prepare(own, corpora, shared, report=self._report)
        if first.meta["drawn"] is None or run.seed == own.seed:
            return first
        return prepare(run.recipe, corpora, shared.with_name(f"{shared.name}-seed{run.seed}"), report=self._report)
