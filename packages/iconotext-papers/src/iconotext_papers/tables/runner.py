"""Reproduces a results table of a paper on a corpus: ``reproduce`` trains, measures and compares the rows.

``run_jobs`` trains one model for each row and seed, in processes; ``Arrays`` has the prepared corpora that they share.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from iconotext.encoders.stored_model import RECIPE
from iconotext.errors import CollapseError, CorpusError, IconotextError, SettingError
from iconotext.recipe import FeatureSettings, Recipe, dump_recipe
from iconotext.recipe.encoders import GRUSettings, NetworkSettings, ProjectionSettings
from iconotext.report.tables import Section, footnoted
from iconotext.system.processes import Child, GoneError, with_messages
from iconotext.system.threads import environment, thread_shares, usable_cores
from iconotext.train.checkpoint import gone_if_refused
from iconotext.train.prepare import Report, no_report, prepare, prepared_key
from iconotext.train.prepared import labelled_documents
from iconotext.train.run import finished
from iconotext.train.start import check_corpora, check_start, with_init
from iconotext_papers.published import PublishedTable
from iconotext_papers.tables import links, retrieval
from iconotext_papers.tables.comparison import (
    STATE,
    Comparison,
    Notify,
    Run,
    about_results,
    check_state,
    claim,
    collapse_of,
    footnotes,
    model_folder,
    results_path,
    runs_of,
    write_report,
)
from iconotext_papers.tables.links import score_baselines
from iconotext_papers.tables.rows import Row, chosen_rows, find_table, is_by_relation, table_rows

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared


STEP_INTERVAL = 0.2
"""Seconds between two steps that are reported."""


@dataclass(frozen=True, slots=True)
class Job:
    """A training run with its evaluation.

    Attributes:
        results: File for the results on the test documents.
        tested: Corpus of the test documents.
        losses: Whether the loss on the test documents is measured, too.
    """

    recipe: Recipe
    corpus: Path
    prepared: Path
    folder: Path
    kind: Literal["links", "retrieval"]
    results: Path
    about: Mapping[str, Any]
    tested: Path
    losses: bool = False


class Forwarded:
    """Sends the calls of a run's watcher to another process, each as the name of its method and its arguments."""

    def __init__(self, send: Send) -> None:
        self._send, self._next = send, 0.0

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """See ``Watcher``; most steps are not sent."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + STEP_INTERVAL
            self._send(("step", (epoch, step, steps, loss)))

    def epoch(self, row: dict[str, float | None]) -> None:
        """See ``Watcher``."""
        self._send(("epoch", (dict(row),)))


def work(job: Job, send: Send) -> None:
    """Train the model, continue its training, or do nothing for a trained one; then measure it."""
    from iconotext.train.prepared import open_prepared
    from iconotext.train.run import train

    with contextlib.suppress(CollapseError):  # the table measures it, and marks it
        train(job.recipe, [job.corpus], job.folder, prepared=job.prepared, watcher=Forwarded(send))
    if job.kind == "links":
        prepared = open_prepared(job.prepared) if job.losses else None
        links.score_links(job.folder, job.tested, job.results, job.about, prepared=prepared)
    else:
        retrieval.score_retrieval(job.folder, job.tested, job.results)


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


def run_jobs(
    jobs: Sequence[tuple[str, Any]], work: Callable[[Any, Send], None], *, processes: int, logs: Path, watch: Watch
) -> dict[str, str]:
    """Run all jobs, and return the reasons of those that failed. If it is interrupted, all jobs have stopped.

    Each job has a process of its own, not one of a pool: it sends messages on the way, and may start processes itself.
    """
    waiting = list(reversed(jobs))
    running: dict[Child, tuple[str, Path]] = {}
    failed: dict[str, str] = {}
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                key, job = waiting.pop()
                log = logs / f"{key}.txt"
                logs.mkdir(parents=True, exist_ok=True)
                watch.started(key)
                with environment(thread_shares(processes)):
                    # Not a daemon, which could not start processes itself.
                    running[Child(_do, job, work, log, daemon=False)] = key, log
            for child in with_messages(running, 0.5):  # without a limit, Windows would not hear Ctrl-C
                key, log = running[child]
                kind, arguments = _received(child, log)
                if kind == "ended":
                    del running[child]
                    if arguments[0] is not None:
                        failed[key] = arguments[0]
                getattr(watch, kind)(key, *arguments)
    finally:
        for child, (_, log) in running.items():
            child.close()
            log.unlink(missing_ok=True)
    return failed


def _received(child: Child, log: Path) -> Message:
    """Receive a job's next message; ``ended`` with the reason if its process has died."""
    try:
        kind, arguments = child.receive()
    except GoneError as error:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
        return "ended", (f"{error}: {lines[-1] if lines else 'it said nothing'} (see {log})",)
    if kind == "ended":
        child.close()
        log.unlink(missing_ok=True)
    return kind, arguments


def _do(channel: Connection, job: Any, work: Callable[[Any, Send], None], log: Path) -> None:
    """Do the job in its process, and report how it ended."""
    # The descriptors themselves, since libraries in C do not write to sys.stderr.
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

    def __init__(self, rows: Sequence[Row], corpora: Callable[[Row], Path], folder: Path, report: Report) -> None:
        """Find out which rows can share, by the corpora that they are trained on."""
        self._corpora, self._folder, self._report = corpora, folder, report
        self._first_seeds = {row.key: row.recipe for row in rows if row.recipe is not None}
        trained = [row for row in rows if row.key in self._first_seeds]
        key_of = {row.key: prepared_key(self._first_seeds[row.key], [corpora(row)]) for row in trained}
        self.keys = list(dict.fromkeys(key_of[row.key] for row in trained if not row.extra))
        self._folders = {name: folder / self._name(key) for name, key in key_of.items()}

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
        first_run = self._first_seeds[run.row.key]
        first = prepare(first_run, corpora, shared, report=self._report)
        if first.meta["drawn"] is None or run.seed == first_run.seed:
            return first
        return prepare(run.recipe, corpora, shared.with_name(f"{shared.name}-seed{run.seed}"), report=self._report)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of reproducing a table.

    Attributes:
        results: Contents of ``results.json``.
        failed: Reasons by key of the models that could not be trained.
        comparison: The comparison of the results; with several corpora that of the first one.
    """

    folder: Path
    sections: Sequence[Section]
    results: dict[str, Any]
    failed: Mapping[str, str]
    comparison: Comparison


def reproduce(
    table: str,
    corpus: Path,
    folder: Path | None = None,
    *,
    watch: Watch,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    dataset: str | None = None,
    seeds: int = 1,
    source: Path | None = None,
    jobs: int | None = None,
    report: Report = no_report,
    notify: Notify = lambda message: None,
) -> Reproduction:
    """Train and measure the rows of a table; finished runs are not repeated, interrupted ones are continued.

    Tables that share their models (those of Alikhani 2021) may share a folder: another table then trains only the
    models that are missing, and the report shows all of them.

    Args:
        table: 2, 3, S1, S2, S3 or S4 of Hessel 2019; li2021/2 to li2021/5, li2021/bias; alikhani2021/4, 5, 7, 8, fig5,
            fig8.
        corpus: A corpus with gold links in its test split; for Alikhani 2021 text-image pairs with relations and
            splits.
        folder: Folder for models, results and tables; created if necessary. None for ``reproduced/TABLE``.
        overrides: ``key=value`` for the recipes of all rows, ``row:key=value`` for those of some.
        only: Rows, by key or published name; others are shown if they were trained before. Empty for all that the paper
            has.
        dataset: The data set of the paper whose published figures stand beside ours; None for all of the table, or for
            the one that has the corpus's relations.
        source: For li2021/4: the corpus with gold links that the transferred model is trained on.
        jobs: Models that are trained at a time; None for half as many as there are cores.
    """
    published = find_table(table)
    _check_dataset(published, dataset)
    if published.kind == "retrieval":
        dataset = dataset or retrieval.data_set(retrieval.named_relations(corpus))
    folder = folder or Path("reproduced") / published.state
    extra = [*only, *(row.key for row in published.rows if row.extra and model_folder(folder, row.key).is_dir())]
    rows = _rows(published, overrides, extra, dataset=dataset)
    requested = () if is_by_relation(published) else chosen_rows(rows, only, published.rows)
    _check_source(published, rows, corpus, source)
    state = _state(published, corpus, overrides, dataset, source)
    with gone_if_refused(folder, STATE):
        check_state(folder, state)
        _check_corpora(requested or rows, corpus, source, folder, published)
        # A named row comes first: the corpus may lack the features that the others read.
        at_first = [*requested, *rows] if only else rows
        first = next(run for row in at_first if not row.transferred for run in runs_of(row, 1))
        arrays = Arrays(rows, lambda row: _trained_on(row, corpus, source), folder, report)
        prepared = arrays.plain(first) if requested and not any(row.recipe for row in requested) else arrays.of(first)
        if published.kind == "links":
            links.check_corpus(corpus, prepared, links=not published.has_losses)
        else:
            retrieval.check_corpus(corpus, prepared)
        if is_by_relation(published):
            rows = _rows(published, overrides, extra, prepared.labelled_relations, dataset)
            arrays = Arrays(rows, lambda row: corpus, folder, report)
        chosen = chosen_rows(rows, only, published.rows)
        claim(folder, {**state, "prepared": arrays.keys[0] if len(arrays.keys) == 1 else arrays.keys})
        keys = frozenset(row.key for row in chosen) if only else frozenset[str]()
        comparison = Comparison(
            published, rows, corpus, prepared, folder, overrides, dataset, seeds, source, keys, notify=notify
        )
        problems = score_baselines(chosen, prepared, corpus, first.recipe, folder, notify)
        to_do = _to_do(comparison, chosen, arrays)
        processes = jobs or max(1, usable_cores() // 2)
        failed = run_jobs(to_do, work, processes=processes, logs=folder / "logs", watch=watch)
        return _reported(replace(comparison, failed=failed, problems=problems))


def _state(
    table: PublishedTable, corpus: Path, overrides: Sequence[str], dataset: str | None, source: Path | None
) -> dict[str, Any]:
    """Return the facts from which a folder is made, except the prepared corpus."""
    state: dict[str, Any] = {"table": table.state, "corpus": str(corpus.resolve()), "set": sorted(overrides)}
    if table.by_dataset:
        state["dataset"] = [f"{key}={value}" for key, value in table.by_dataset.get(dataset or "", {}).items()]
    return state if source is None else {**state, "from": str(source.resolve())}


def _rows(
    table: PublishedTable,
    overrides: Sequence[str],
    extra: Sequence[str],
    relations: Sequence[str] | None = None,
    dataset: str | None = None,
) -> tuple[Row, ...]:
    """Return the rows, each with the encoders of the model that it starts from, if any."""
    rows = []
    for row in table_rows(table, overrides, relations, dataset, extra):
        recipe = None if row.recipe is None else with_init(row.recipe)
        if recipe is not None:
            check_start(recipe)
        rows.append(replace(row, recipe=recipe))
    return tuple(rows)


def _check_dataset(table: PublishedTable, dataset: str | None) -> None:
    if dataset is not None and dataset not in table.datasets:
        advice = f"has {', '.join(table.datasets)}" if table.datasets else "has no published figures"
        raise SettingError(f"dataset={dataset}: table {table.name} {advice}")


def _check_source(table: PublishedTable, rows: Sequence[Row], corpus: Path, source: Path | None) -> None:
    """Raise ``SettingError`` if another corpus to train on is missing, or is named for a table that does not use it."""
    transfers = any(row.transferred for row in rows)
    if transfers and source is None:
        raise SettingError(f"table {table.name} compares with a model of another corpus: name that one with from=...")
    if source is not None and not transfers:
        raise SettingError(f"from={source}: table {table.name} is of one corpus; from=... is for li2021/4")
    if source is not None and source.resolve() == corpus.resolve():
        raise SettingError(f"from={source}: is the corpus of the table; name another one, with gold links")


def _check_corpora(rows: Sequence[Row], corpus: Path, source: Path | None, folder: Path, table: PublishedTable) -> None:
    """Raise ``SettingError`` for a row that its corpus is too small for, before anything is prepared."""
    for run in (run for row in rows for run in runs_of(row, 1) if not _is_done(run, folder, table)):
        try:
            check_corpora(run.recipe, [_trained_on(run.row, corpus, source)])
        except SettingError as error:
            raise SettingError(f"{run.row.name}: {error}") from error


def _trained_on(row: Row, corpus: Path, source: Path | None) -> Path:
    return source if row.transferred and source is not None else corpus


def _to_do(comparison: Comparison, chosen: Sequence[Row], arrays: Arrays) -> list[tuple[str, Job]]:
    to_do = []
    for run in [run for row in chosen for run in runs_of(row, comparison.seeds)]:
        if not _is_done(run, comparison.folder, comparison.table):
            prepared = arrays.of(run)
            _check_links(run, prepared, _trained_on(run.row, comparison.corpus, comparison.source))
            to_do.append((run.key, _job(run, comparison, prepared)))
    return to_do


def _check_links(run: Run, prepared: Prepared, corpus: Path) -> None:
    """Raise ``CorpusError`` if a row learns from gold links and there are none."""
    if run.recipe.similarity.kind == "labelled-pairs":
        try:
            for split in ("train", "validation"):
                labelled_documents(prepared, run.recipe, split)
        except CorpusError as error:
            raise CorpusError(
                f"{corpus}: {run.row.name}: {error}; leave the row out with only=..., or name a corpus that has more"
            ) from error


def _is_done(run: Run, folder: Path, table: PublishedTable) -> bool:
    """Tell whether a run has its model and its results."""
    model, results = model_folder(folder, run.key), results_path(folder, run.key, table.kind)
    return (
        finished(model)
        and (model / RECIPE).read_text(encoding="utf-8") == dump_recipe(run.recipe)
        and (results.is_file() if table.kind == "links" else retrieval.read_scores(results, model) is not None)
    )


def _job(run: Run, comparison: Comparison, prepared: Prepared) -> Job:
    source = _trained_on(run.row, comparison.corpus, comparison.source)
    return Job(
        recipe=run.recipe,
        corpus=source,
        prepared=prepared.folder,
        folder=model_folder(comparison.folder, run.key),
        kind=comparison.table.kind,
        results=results_path(comparison.folder, run.key, comparison.table.kind),
        about=about_results(comparison.corpus, run.key) | ({"trained_on": source.name} if run.row.transferred else {}),
        tested=comparison.corpus,
        losses=comparison.table.has_losses,
    )


def _reported(comparison: Comparison) -> Reproduction:
    runs = [run for row in comparison.rows for run in runs_of(row, comparison.seeds)]
    collapsed = {run.key: collapse for run in runs if (collapse := collapse_of(comparison.folder, run.key)) is not None}
    comparison = replace(comparison, collapsed=collapsed)
    report = links.report if comparison.table.kind == "links" else retrieval.report
    title, sections, facts = report(comparison)
    sections = footnoted(sections, footnotes([comparison]))
    written = write_report(comparison, title, sections, facts)
    return Reproduction(comparison.folder, sections, written, comparison.failed, comparison)
