"""A whole results table of a paper on a corpus: train every row's model, score all rows, set them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import CorpusError, SettingError
from iconotext.papers.published import PUBLISHED
from iconotext.papers.tables.baselines import Tell, score_object_detection, score_random
from iconotext.papers.tables.folder import check_state, claim
from iconotext.papers.tables.pool import Watch, default_jobs, run_jobs
from iconotext.papers.tables.rows import DETECTION, RANDOM, Row, chosen_rows, table_name, table_rows
from iconotext.papers.tables.runs import Arrays, done, job_of, runs_of
from iconotext.papers.tables.tables import Told, write_tables
from iconotext.train.labelled import labelled_documents
from iconotext.train.start import check_start, with_init

if TYPE_CHECKING:
    from iconotext.train.prepare import Report
    from iconotext.train.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came out.

    Attributes:
        folder: Where it lies.
        results: What ``results.json`` holds.
        failed: For each model that could not be trained, why.
    """

    folder: Path
    results: dict[str, Any]
    failed: dict[str, str]


def reproduce(
    table: str,
    corpus: Path,
    folder: Path,
    *,
    watch: Watch,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    dataset: str | None = None,
    seeds: int = 1,
    source: Path | None = None,
    jobs: int | None = None,
    report: Report | None = None,
    tell: Tell = lambda message: None,
) -> Reproduction:
    """Train and evaluate the rows of a table; what is there already is not done again, what was interrupted goes on.

    Args:
        table: 2, 3, S1, S2, S3 or S4 of Hessel 2019; li2021/2 to li2021/5, li2021/bias.
        corpus: With gold links in its test split.
        folder: For models, results and tables; made if need be.
        watch: Told how the models get on.
        overrides: ``key=value`` for the recipes of all rows, ``row:key=value`` for those of some.
        only: Rows, by key or published name; others are shown as far as they are there. Empty for all.
        dataset: The data set of the paper whose published figures stand beside ours; None for all of the table.
        seeds: How often each row is trained: with the seed of its recipe, the next one, and so on.
        source: For li2021/4: the corpus with gold links that the transferred model is trained on.
        jobs: Models that are trained at a time; None for half as many as there are cores.
        report: Told how encoding goes on.
        tell: Told what is done besides.

    Raises:
        SettingError: Table, row, data set or a setting does not exist, or the folder was made with others.
        CorpusError: A corpus breaks its format, has no test documents with gold links, or none to learn from where a
            row is trained on them.
        FeatureError: A backbone is missing.
    """
    table = table_name(table)
    rows = table_rows(table, overrides)
    chosen = chosen_rows(rows, only)
    datasets = list(dict.fromkeys(name for each in PUBLISHED[table].values() for name in each))
    if dataset is not None and dataset not in datasets:
        there = f"has {', '.join(datasets)}" if datasets else "has no published figures"
        raise SettingError(f"dataset={dataset}: table {table} {there}")
    _check_source(table, rows, corpus, source)
    rows = tuple(row if row.recipe is None else replace(row, recipe=with_init(row.recipe)) for row in rows)
    state = {"table": table, "corpus": str(corpus.resolve()), "set": sorted(overrides)}
    if source is not None:
        state["from"] = str(source.resolve())
    check_state(folder, state)
    trained = [row for row in rows if row.recipe is not None]
    for recipe in [row.recipe for row in trained if row.recipe is not None]:
        check_start(recipe)
    arrays = Arrays(trained, lambda row: source if row.transferred and source else corpus, folder, report)
    first = next(row for row in trained if not row.transferred)
    first_run = runs_of(first, 1)[0]
    prepared = arrays.of(first_run)
    if not len(prepared.linked_documents("test")):
        raise CorpusError(
            f"{corpus}: has no test documents with gold links, so there is nothing to fill the table with; "
            "`iconotext corpus split` makes a test split"
        )
    claim(folder, {**state, "prepared": arrays.keys[0] if len(arrays.keys) == 1 else arrays.keys})
    keys = {row.key for row in chosen}
    problems: list[str] = []
    if RANDOM in keys:
        score_random(prepared, corpus, folder)
    if DETECTION in keys:
        problem = score_object_detection(corpus, first_run.recipe, folder, tell)
        problems += [f"Object detection: not possible here: {problem}."] if problem else []
    runs = [run for row in rows if row.key in keys for run in runs_of(row, seeds) if not done(run, folder)]
    to_train = []
    for run in runs:
        own = arrays.of(run)
        _check_links(run.row, own, source if run.row.transferred and source else corpus)
        to_train.append((run.key, job_of(run, corpus, source, own, folder)))
    failed = run_jobs(to_train, at_once=jobs or default_jobs(), logs=folder / "logs", watch=watch)
    told = Told(table, rows, corpus, overrides, dataset, seeds, source)
    results = write_tables(told, folder, prepared, failed=failed, problems=problems, tell=tell)
    return Reproduction(folder, results, failed)


def _check_source(table: str, rows: Sequence[Row], corpus: Path, source: Path | None) -> None:
    """Raise where another corpus to train on is missing, or is named for a table that has no use for it."""
    transfers = any(row.transferred for row in rows)
    if transfers and source is None:
        raise SettingError(f"table {table} compares with a model of another corpus: name that one with from=...")
    if source is not None and not transfers:
        raise SettingError(f"from={source}: table {table} is of one corpus; from=... is for li2021/4")
    if source is not None and source.resolve() == corpus.resolve():
        raise SettingError(f"from={source}: is the corpus of the table; name another one, with gold links")


def _check_links(row: Row, prepared: Prepared, corpus: Path) -> None:
    """Raise where a row learns from gold links and there are none."""
    assert row.recipe is not None
    if row.recipe.similarity.kind == "labelled-pairs":
        try:
            for split in ("train", "validation"):
                labelled_documents(prepared, row.recipe, split)
        except CorpusError as error:
            raise CorpusError(
                f"{corpus}: {row.name}: {error}; leave the row out with only=..., or name a corpus that has more"
            ) from error
