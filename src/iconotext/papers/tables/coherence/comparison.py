"""The tables of Alikhani 2021 on a corpus: train every row's model, measure all, set them side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.embed.folder import RECIPE
from iconotext.errors import CorpusError, SettingError
from iconotext.papers.tables.coherence.rows import coherence_rows, data_set
from iconotext.papers.tables.coherence.scores import score_model
from iconotext.papers.tables.coherence.tables import coherence_sections, differences_to
from iconotext.papers.tables.comparison import Reproduction
from iconotext.papers.tables.folder import PAGE, RESULTS, TABLE, check_state, claim, model_folder
from iconotext.papers.tables.page import report_page
from iconotext.papers.tables.pool import Watch, default_jobs, run_jobs
from iconotext.papers.tables.rows import Row, check_patterns, chosen_rows, given_overrides
from iconotext.papers.tables.runs import ARRAYS, Run, runs_of
from iconotext.papers.tables.worker import Job
from iconotext.recipe import dump_recipe, load_recipe
from iconotext.train.prepare import prepare
from iconotext.train.run import finished
from iconotext.train.start import check_start
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.papers.tables.baselines import Tell
    from iconotext.train.prepare import Report
    from iconotext.train.prepared import Prepared

DATASETS = ("CITE++", "Clue")


def reproduce_coherence(
    table: str,
    corpus: Path,
    folder: Path,
    *,
    watch: Watch,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    dataset: str | None = None,
    seeds: int = 1,
    jobs: int | None = None,
    report: Report | None = None,
    tell: Tell = lambda message: None,
) -> Reproduction:
    """Train and measure the rows of a table; what is there already is not done again, what was interrupted goes on.

    The tables share their models: in one folder, another table trains only what it needs besides, and the report has
    all that is there.

    Args:
        table: One of ``reproduce.rows.OF_RELATIONS``.
        corpus: Text-image pairs with labels of relations and with splits.
        folder: For models, figures and tables; made if need be.
        watch: Told how the models get on.
        overrides: ``key=value`` for the recipes of all rows, ``row:key=value`` for those of some.
        only: Rows, by key or published name; empty for all.
        dataset: The paper's data set to set beside ours; None for the one with the corpus's relations.
        seeds: How often each row is trained.
        jobs: Models that are trained at a time; None for half as many as there are cores.
        report: Told how encoding goes on.
        tell: Told what is done besides.

    Raises:
        SettingError: A row, data set or setting does not exist, or the folder was made with others.
        CorpusError: The corpus breaks its format, has no splits, no labels, or documents that are no pairs.
        FeatureError: A backbone is missing.
    """
    if dataset not in (None, *DATASETS):
        raise SettingError(f"dataset={dataset}: table {table} has {', '.join(DATASETS)}")
    state = {"table": "alikhani2021", "corpus": str(corpus.resolve()), "set": sorted(overrides)}
    check_state(folder, state)
    shared = [f"{key}={value}" for key, value in given_overrides(overrides, "").items()]
    first = load_recipe("alikhani2021/base", shared)
    check_start(first)
    prepared = prepare(first, [corpus], folder / ARRAYS, report=report)
    _check(corpus, prepared)
    claim(folder, {**state, "prepared": prepared.meta["key"]})
    every = coherence_rows("alikhani2021/5", prepared.labelled_relations, overrides)
    check_patterns(every, overrides)
    rows = coherence_rows(table, prepared.labelled_relations, overrides)
    runs = [run for row in chosen_rows(rows, only) for run in runs_of(row, seeds)]
    to_train = [(run.key, _job(run, corpus, prepared, folder)) for run in runs if not _done(run, folder)]
    failed = run_jobs(to_train, at_once=jobs or default_jobs(), logs=folder / "logs", watch=watch)
    scores = _scores(every, prepared, folder, seeds, tell)
    dataset = dataset or data_set(prepared.labelled_relations)
    results: dict[str, Any] = {
        "table": table,
        "corpus": str(corpus),
        "dataset": dataset,
        "set": list(overrides),
        "seeds": seeds,
        "rows": {name: {str(seed): _without_queries(each) for seed, each in by.items()} for name, by in scores.items()},
        "differences": differences_to(scores),
        "failed": failed,
    }
    if scores:
        sections = coherence_sections(scores, dataset, folder)
        write_text(folder / TABLE, "\n".join(section.markdown for section in sections), force=True)
        page = report_page(f"Alikhani et al. 2021, and {corpus.name}", [section.html for section in sections])
        write_text(folder / PAGE, page, force=True)
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / RESULTS, text + "\n", force=True)
    return Reproduction(folder, results, failed)


def _check(corpus: Path, prepared: Prepared) -> None:
    """Raise what would only show after hours of training."""
    if prepared.meta["drawn"] is not None or not len(prepared.documents("test")):
        raise CorpusError(
            f"{corpus}: these tables need a corpus with splits, test documents among them; "
            "`iconotext corpus split` makes them"
        )
    if not prepared.labelled_relations:
        raise CorpusError(f"{corpus}: no training document of one sentence and one image has labels of relations")
    for split in ("validation", "test"):
        if not prepared.all_single(split):
            raise CorpusError(f"{corpus}: {split} documents need one sentence and one image each for these tables")


def _job(run: Run, corpus: Path, prepared: Prepared, folder: Path) -> Job:
    model = model_folder(folder, run.key)
    return Job.of(run.recipe, [corpus], prepared=prepared.folder, folder=model, results=None, about={})


def _done(run: Run, folder: Path) -> bool:
    model = model_folder(folder, run.key)
    return finished(model) and (model / RECIPE).read_text(encoding="utf-8") == dump_recipe(run.recipe)


def _scores(
    rows: Sequence[Row], prepared: Prepared, folder: Path, seeds: int, tell: Tell
) -> dict[str, dict[int, dict[str, Any]]]:
    """Name of each row with a trained model to seed to figures."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        for run in runs_of(row, seeds):
            if _done(run, folder):
                tell(f"measuring {run.key}")
                path = folder / "results" / f"{run.key}.json"
                scored = score_model(model_folder(folder, run.key), prepared, path)
                found.setdefault(row.name, {})[run.seed] = scored
    return found


def _without_queries(score: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in score.items() if name != "queries"}
