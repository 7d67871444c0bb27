"""A whole results table of Hessel 2019 on a corpus: train every row's model, score all rows, set them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.embed.folder import RECIPE
from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.published import PUBLISHED
from iconotext.recipe import Recipe, dump_recipe
from iconotext.train.prepare import prepare
from iconotext.train.reproduce_baselines import Tell, score_object_detection, score_random
from iconotext.train.reproduce_folder import about_results, check_state, claim, model_folder, results_path
from iconotext.train.reproduce_pool import Watch, default_jobs, run_jobs
from iconotext.train.reproduce_rows import DETECTION, RANDOM, chosen_rows, table_rows
from iconotext.train.reproduce_tables import Told, write_tables
from iconotext.train.reproduce_worker import Job
from iconotext.train.run import finished
from iconotext.train.start import check_start, with_init
from iconotext.train.validate import linked_documents

if TYPE_CHECKING:
    from iconotext.train.prepare import Report


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
    jobs: int | None = None,
    report: Report | None = None,
    tell: Tell = lambda message: None,
) -> Reproduction:
    """Train and evaluate the rows of a table; what is there already is not done again, what was interrupted goes on.

    Args:
        table: 2, 3, S1, S2, S3 or S4.
        corpus: With gold links in its test split.
        folder: For models, results and tables; made if need be.
        watch: Told how the models get on.
        overrides: ``key=value`` for the recipes of all rows.
        only: Rows, by key or published name; others are shown as far as they are there. Empty for all.
        dataset: The data set of the paper whose published figures stand beside ours; None for all of the table.
        jobs: Models that are trained at a time; None for half as many as there are cores.
        report: Told how encoding goes on.
        tell: Told what is done besides.

    Raises:
        SettingError: Table, row, data set or a setting does not exist, or the folder was made with others.
        CorpusError: The corpus breaks its format, or has no test documents with gold links.
        FeatureError: A backbone is missing.
    """
    rows = table_rows(table, overrides)
    chosen = chosen_rows(rows, only)
    datasets = list(dict.fromkeys(name for each in PUBLISHED[table].values() for name in each))
    if dataset is not None and dataset not in datasets:
        raise SettingError(f"--dataset {dataset}: table {table} has {', '.join(datasets)}")
    rows = tuple(row if row.recipe is None else replace(row, recipe=with_init(row.recipe)) for row in rows)
    state = {"table": table, "corpus": str(corpus.resolve()), "set": sorted(overrides)}
    check_state(folder, state)
    recipe = next(row.recipe for row in rows if row.recipe is not None)  # all have the same features
    check_start(recipe)
    prepared = prepare(recipe, [corpus], folder / "prepared", report=report)
    if not len(linked_documents(prepared, "test")):
        raise CorpusError(
            f"{corpus}: has no test documents with gold links, so there is nothing to fill the table with; "
            "`iconotext corpus split` makes a test split"
        )
    claim(folder, {**state, "prepared": prepared.meta["key"]})
    keys = {row.key for row in chosen}
    problems: list[str] = []
    if RANDOM in keys:
        score_random(prepared, corpus, folder)
    if DETECTION in keys:
        problem = score_object_detection(corpus, recipe, folder, tell)
        problems += [f"Object detection: not possible here: {problem}."] if problem else []
    to_train = [
        (row.key, _job(row.recipe, corpus, row.key, folder))
        for row in rows
        if row.key in keys and row.recipe is not None and not _done(row.recipe, row.key, folder)
    ]
    failed = run_jobs(to_train, at_once=jobs or default_jobs(), logs=folder / "logs", watch=watch)
    told = Told(table, rows, corpus, overrides, dataset)
    results = write_tables(told, folder, prepared, failed=failed, problems=problems)
    return Reproduction(folder, results, failed)


def _job(recipe: Recipe, corpus: Path, key: str, folder: Path) -> Job:
    return Job.of(
        recipe,
        [corpus],
        prepared=folder / "prepared",
        folder=model_folder(folder, key),
        results=results_path(folder, key),
        about=about_results(corpus, key),
    )


def _done(recipe: Recipe, key: str, folder: Path) -> bool:
    model = model_folder(folder, key)
    return (
        finished(model)
        and results_path(folder, key).is_file()
        and (model / RECIPE).read_text(encoding="utf-8") == dump_recipe(recipe)
    )
