"""What is written about a reproduced table: Markdown, a page, training curves, and all figures as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.embed.folder import METRICS
from iconotext.evaluate.results import METRICS as FIGURES
from iconotext.evaluate.results import Evaluation, Results, read_results
from iconotext.evaluate.seeds import over_seeds
from iconotext.papers.published import PUBLISHED
from iconotext.papers.tables.bias import bias_sections
from iconotext.papers.tables.differences import BySeed, compare_rows
from iconotext.papers.tables.folder import CURVES, PAGE, RESULTS, TABLE, VALIDATION_K, model_folder, results_path
from iconotext.papers.tables.notes import table_notes, title_of
from iconotext.papers.tables.page import report_page
from iconotext.papers.tables.rows import BIAS, DETECTION, SHARES, Row, reference_row
from iconotext.papers.tables.runs import Run, runs_of
from iconotext.papers.tables.section import figure_section
from iconotext.papers.tables.shares import share_sections
from iconotext.train.log import LOG
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.papers.tables.baselines import Tell
    from iconotext.papers.tables.section import Section
    from iconotext.train.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Told:
    """What was asked for.

    Attributes:
        table: Name of the table.
        rows: All of its rows.
        corpus: The corpus file.
        overrides: ``key=value`` for all rows, or with the row before it.
        dataset: Data set of the paper to set beside ours; None for all.
        seeds: Of each row that is trained.
        source: Corpus file that a transferred row is trained on.
    """

    table: str
    rows: Sequence[Row]
    corpus: Path
    overrides: Sequence[str]
    dataset: str | None
    seeds: int = 1
    source: Path | None = None

    @property
    def compares(self) -> bool:
        """Whether rows are compared with each other: always in the tables of Li 2021, else over several seeds."""
        return self.seeds > 1 or "/" in self.table


def write_tables(
    told: Told, folder: Path, prepared: Prepared, *, failed: dict[str, str], problems: Sequence[str], tell: Tell
) -> dict[str, Any]:
    """Read all results that are there, and write tables, curves and figures.

    Args:
        told: What was asked for.
        folder: Where everything lies.
        prepared: The corpus, as the first row that is trained on it reads it.
        failed: For each key of a run that failed, why.
        problems: What else a reader must know.
        tell: Told what is done.

    Returns:
        What ``results.json`` holds.

    Raises:
        CorpusError: The seeds of a row were evaluated on different documents.
    """
    from iconotext.papers.analyses.curves import read_curve, write_curves
    from iconotext.papers.tables.figures_table import html, markdown, results_table

    published = {
        name: {each: figures for each, figures in cells.items() if told.dataset in (None, each)}
        for name, cells in PUBLISHED[told.table].items()
    }
    read = {name: results for name, runs in _lines(told) if (results := _results(runs, folder, failed))}
    evaluations = {name: over_seeds([each.evaluation for each in results.values()]) for name, results in read.items()}
    trained = {row.name for row in told.rows if row.recipe is not None}
    by_seed: dict[str, BySeed] = {
        name: {seed: each.evaluation for (_, seed), each in results.items()}
        for name, results in read.items()
        if name in trained
    }
    sections: list[Section | None] = []
    comparison: dict[str, dict[str, Any]] = {}
    if told.compares:
        section, comparison = compare_rows(by_seed, reference_row(told.rows).name)
        sections.append(section)
    more: dict[str, Any] = {"seeds": told.seeds} if told.compares else {}
    if told.source is not None:
        more["from"] = str(told.source)
    if told.table == SHARES:
        shown, facts = share_sections(told.rows, by_seed, folder)
        sections, more = [*shown, *sections], {**more, "overtaking": facts}
    if told.table == BIAS:
        recipe = next(row.recipe for row in told.rows if row.recipe is not None)
        shown, facts = bias_sections(told.corpus, recipe, prepared, by_seed, folder, dataset=told.dataset, tell=tell)
        sections, more = [*sections, *shown], {**more, **facts}
    figures = {
        name: _row(told, folder, name, read[name], evaluations[name], published, comparison.get(name, {}))
        for name in read
    }
    lines = [name for name, _ in _lines(told)]
    shown_table = results_table(
        {name: {told.corpus.stem: evaluation} for name, evaluation in evaluations.items()},
        {name: published.get(name, {}) for name in lines if name in published or name in evaluations},
        title=f"{title_of(told.table)}, and {told.corpus.name}",
        notes=[
            *table_notes(
                told.table, evaluations, figures, told.overrides, prepared, seeds=told.seeds, source=told.source
            ),
            *problems,
            *_failures(told, failed),
        ],
    )
    curves = [
        replace(read_curve(model_folder(folder, run.key)), name=_called(run, told.seeds))
        for _, runs in _lines(told)
        for run in runs
        if isinstance(run, Run) and (model_folder(folder, run.key) / LOG).is_file()
    ]
    if curves:
        write_curves(curves, folder / CURVES, force=True)
    parts = [section for section in sections if section is not None]
    text = markdown(shown_table) + "".join(f"\n{part.markdown}" for part in parts)
    if curves:
        parts.append(figure_section(CURVES, "Objective and AUC on the validation documents by epoch"))
    write_text(folder / TABLE, text, force=True)
    write_text(
        folder / PAGE, report_page(shown_table.title, [html(shown_table), *(part.html for part in parts)]), force=True
    )
    everything = {
        "table": told.table,
        "corpus": str(told.corpus),
        "dataset": told.dataset,
        "set": list(told.overrides),
        **more,
        "rows": list(figures.values()),
        "failed": failed,
        "notes": list(problems),
    }
    text = json.dumps(everything, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / RESULTS, text + "\n", force=True)
    found: dict[str, Any] = json.loads(text)  # with the lists that a reader of the file gets
    return found


def _lines(told: Told) -> list[tuple[str, Sequence[Run | str]]]:
    """Name of each line of our table and its runs, or the key of what is not trained.

    A line is a published row, or after object detection the other choice of K.
    """
    lines: list[tuple[str, Sequence[Run | str]]] = []
    for row in told.rows:
        lines.append((row.name, runs_of(row, told.seeds) or [row.key]))
        if row.key == DETECTION:
            lines.append(("Object detection, K by validation", [VALIDATION_K]))
    return lines


def _results(runs: Sequence[Run | str], folder: Path, failed: dict[str, str]) -> dict[tuple[str, int], Results]:
    """Key and seed to the results that are there."""
    keys = [(run.key, run.seed) if isinstance(run, Run) else (run, 0) for run in runs]
    return {
        (key, seed): read_results(results_path(folder, key))
        for key, seed in keys
        if results_path(folder, key).is_file() and key not in failed
    }


def _row(
    told: Told,
    folder: Path,
    name: str,
    results: dict[tuple[str, int], Results],
    evaluation: Evaluation,
    published: dict[str, dict[str, tuple[float, float, float]]],
    comparison: dict[str, Any],
) -> dict[str, Any]:
    """What ``results.json`` says of a line."""
    (key, _), first = next(iter(results.items()))
    model = next((row.key for row in told.rows if row.name == name), key)
    found = {"row": name, **evaluation.as_dict(model=model, corpus=str(told.corpus), split="test")}
    found |= {name: first.about[name] for name in ("k", "trained_on") if name in first.about}
    if comparison:
        found["seeds"] = [
            {"seed": seed, "model": key, **{metric: each.evaluation.means[metric] for metric in FIGURES}}
            | _training(model_folder(folder, key))
            for (key, seed), each in results.items()
        ]
        found |= comparison
    else:
        found |= _training(model_folder(folder, key))
    if name in published:
        found["published"] = {each: list(figures) for each, figures in published[name].items()}
    return found


def _called(run: Run, seeds: int) -> str:
    return run.row.name if seeds == 1 else f"{run.row.name}, seed {run.seed}"


def _training(model: Path) -> dict[str, Any]:
    """Best epoch, epochs and seconds of a model that was trained."""
    import csv

    if not (model / METRICS).is_file():
        return {}
    metrics = json.loads((model / METRICS).read_text(encoding="utf-8"))
    with (model / LOG).open(encoding="utf-8", newline="") as file:
        seconds = sum(float(row["seconds"]) for row in csv.DictReader(file))
    return {name: metrics[name] for name in ("best_epoch", "epochs", "validation_loss")} | {"seconds": seconds}


def _failures(told: Told, failed: dict[str, str]) -> list[str]:
    return [
        f"{_called(run, told.seeds)} failed: {failed[run.key]}"
        for _, runs in _lines(told)
        for run in runs
        if isinstance(run, Run) and run.key in failed
    ]
