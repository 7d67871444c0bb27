"""One table of several corpora: each stands for a data set of the paper, and has its own folder in the table's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from iconotext.errors import SettingError
from iconotext.papers.analyses.curves import read_curve, write_curves
from iconotext.papers.published import PublishedTable
from iconotext.papers.tables.comparison import (
    CURVES,
    RESULTS,
    STATE,
    Comparison,
    check_state,
    footnotes,
    model_folder,
    runs_of,
    write_pages,
)
from iconotext.papers.tables.link_sections import COMPARED, agreement_sections
from iconotext.papers.tables.links import line_names, mean_scores, published_figures, read_scores, scores_by_seed
from iconotext.papers.tables.results_grid import results_grid
from iconotext.papers.tables.rows import find_table
from iconotext.papers.tables.runner import Reproduction, reproduce
from iconotext.plain_text import did_you_mean, there_are
from iconotext.report.tables import Drawing, Section, footnoted
from iconotext.system.files import write_text
from iconotext.train.log import LOG


def named_corpora(table: str, given: Sequence[str]) -> dict[str, Path]:
    """Parse ``NAME=FILE``: data set of the paper to corpus file; ``DII`` is short for ``Story-DII``."""
    published = find_table(table)
    if published.kind != "links":
        raise SettingError(f"table {published.name} is of one corpus at a time: give corpus=FILE")
    found: dict[str, Path] = {}
    for each in given:
        name, equals, file = each.partition("=")
        if not equals:
            raise SettingError(f"corpus={each}: several corpora need the names of their data sets, such as DII={each}")
        dataset = _dataset(published, name.strip())
        if dataset in found:
            raise SettingError(f"corpus={each}: {dataset} is named twice")
        found[dataset] = Path(file)
    return found


def _dataset(table: PublishedTable, name: str) -> str:
    for shortened in (False, True):
        for dataset in table.datasets:
            if name.casefold() == (dataset.rpartition("-")[2] if shortened else dataset).casefold():
                return dataset
    there = there_are(did_you_mean(name.upper(), table.datasets), table.datasets)
    raise SettingError(f"corpus={name}: table {table.name} has no such data set{there}")


def reproduce_corpora(
    table: str, corpora: Mapping[str, Path], folder: Path | None = None, *, overrides: Sequence[str] = (), **more: Any
) -> Reproduction:
    """Train and measure the rows of a table on several corpora, and set all of them beside the published columns.

    Args:
        table: As for ``reproduce``, of links.
        corpora: Data set of the paper to the corpus that stands for it; see ``named_corpora``.
    """
    published = find_table(table)
    folder = folder or Path("reproduced") / published.state
    state = {"table": published.state, "corpora": "several", "set": sorted(overrides)}
    check_state(folder, state)
    done = {
        name: reproduce(table, corpus, folder / name.casefold(), overrides=overrides, dataset=name, **more)
        for name, corpus in corpora.items()
    }
    write_text(folder / STATE, json.dumps(state, indent=1), force=True)
    comparisons = [each.comparison for each in done.values()]
    sections, facts = _report(comparisons, folder)
    results = {
        "table": published.name, "set": list(overrides), **facts,
        "corpora": {name: each.results for name, each in done.items()},
    }  # fmt: skip
    write_pages(folder, published.title, sections)
    write_text(folder / RESULTS, json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n", force=True)
    failed = {f"{name}: {key}": why for name, each in done.items() for key, why in each.failed.items()}
    return Reproduction(folder, sections, results, failed, comparisons[0])


def _report(comparisons: Sequence[Comparison], folder: Path) -> tuple[list[Section], dict[str, Any]]:
    table = comparisons[0].table
    names = list(dict.fromkeys(name for each in comparisons for name in line_names(each)))
    scores = [read_scores(each) for each in comparisons]
    means = {each.called: mean_scores(own) for each, own in zip(comparisons, scores, strict=True)}
    ours = {name: {called: found[name] for called, found in means.items() if name in found} for name in names}
    notes = [
        "In percent, in brackets 95 % bootstrap intervals over the test documents; bold is within one point of the "
        "best of its column. Each corpus has a report of its own: "
        + ", ".join(f"{each.folder.name}/table.html" for each in comparisons) + ".",
        *table.notes,
        *(f"{each.called}: {problem}" for each in comparisons for problem in each.problems),
    ]  # fmt: skip
    published = {name: published_figures(table, name, None) for name in names if name in table.published or ours[name]}
    grid = results_grid(
        {name: cells for name, cells in ours.items() if cells}, published, title=table.title, notes=notes
    )
    more, facts = agreement_sections(
        [(each, scores_by_seed(each, own)) for each, own in zip(comparisons, scores, strict=True)]
    )
    return footnoted([grid, *_curves(comparisons, folder), *more], footnotes(comparisons)), facts


def _curves(comparisons: Sequence[Comparison], folder: Path) -> list[Section]:
    """Draw Fig. S1: a panel for each corpus, of AP or, if it was not trained, of the first trained row."""
    curves, names = [], set()
    for each in comparisons:
        rows = sorted((row for row in each.rows if row.recipe), key=lambda row: row.key != COMPARED["AP"])
        runs = [runs_of(row, 1)[0] for row in rows]
        run = next((run for run in runs if (model_folder(each.folder, run.key) / LOG).is_file()), None)
        if run is not None:
            names.add(run.row.name)
            curves.append(replace(read_curve(model_folder(each.folder, run.key)), name=each.called))
    if not curves:
        return []
    write_curves(curves, folder / CURVES, force=True)
    return [Drawing(CURVES, f"Objective and AUC on the validation documents by epoch: {', '.join(sorted(names))}")]
