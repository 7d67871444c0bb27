"""Reproduces one table of links on several corpora, one for each data set of the paper, and sets them side by side.

Each corpus has a folder of its own in the folder of the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iconotext.errors import SettingError
from iconotext.plain_text import did_you_mean, there_are
from iconotext.report.tables import Section, footnoted
from iconotext.system.files import write_text
from iconotext.train.checkpoint import LOG
from iconotext_papers.published import PublishedTable
from iconotext_papers.tables.comparison import (
    RESULTS,
    STATE,
    Comparison,
    check_state,
    footnotes,
    model_folder,
    write_pages,
)
from iconotext_papers.tables.link_sections import agreement_sections, compared_rows
from iconotext_papers.tables.links import (
    draw_curves,
    line_names,
    mean_scores,
    published_figures,
    read_scores,
    scores_by_seed,
)
from iconotext_papers.tables.results_grid import results_grid
from iconotext_papers.tables.rows import find_table
from iconotext_papers.tables.runner import Reproduction, reproduce


def named_corpora(table: str, corpora: Sequence[str]) -> dict[str, Path]:
    """Parse ``NAME=FILE``: data set of the paper to corpus file; ``DII`` is short for ``Story-DII``."""
    published = find_table(table)
    if published.kind != "links":
        raise SettingError(f"table {published.name} is of one corpus at a time: give corpus=FILE")
    by_dataset: dict[str, Path] = {}
    for item in corpora:
        name, equals, file = item.partition("=")
        if not equals:
            raise SettingError(f"corpus={item}: several corpora need the names of their data sets, such as DII={item}")
        dataset = _dataset(published, name.strip())
        if dataset in by_dataset:
            raise SettingError(f"corpus={item}: {dataset} is named twice")
        by_dataset[dataset] = Path(file)
    return by_dataset


def _dataset(table: PublishedTable, name: str) -> str:
    for shortened in (False, True):
        for dataset in table.datasets:
            if name.casefold() == (dataset.rpartition("-")[2] if shortened else dataset).casefold():
                return dataset
    advice = there_are(did_you_mean(name.upper(), table.datasets), table.datasets)
    raise SettingError(f"corpus={name}: table {table.name} has no such data set{advice}")


def reproduce_corpora(
    table: str, corpora: Mapping[str, Path], folder: Path | None = None, *, overrides: Sequence[str] = (), **more: Any
) -> Reproduction:
    """Train and measure the rows of a table on several corpora, and set all of them beside the published columns.

    Args:
        table: Name of a table of links, as for ``reproduce``; so are ``overrides`` and ``more``.
        folder: Folder of the table; by default below ``reproduced``.
        corpora: Data set of the paper to the corpus that stands for it; see ``named_corpora``.
    """
    published = find_table(table)
    folder = folder or Path("reproduced") / published.state
    # The corpora are not part of the state: others may be added later, and the folder of each has its own.
    state = {"table": published.state, "corpora": "several", "set": sorted(overrides)}
    check_state(folder, state)
    tables = {
        name: reproduce(table, corpus, folder / name.casefold(), overrides=overrides, dataset=name, **more)
        for name, corpus in corpora.items()
    }
    write_text(folder / STATE, json.dumps(state, indent=1), force=True)
    comparisons = [r.comparison for r in tables.values()]
    sections, facts = _report(comparisons, folder)
    results = {
        "table": published.name, "set": list(overrides), **facts,
        "corpora": {name: r.results for name, r in tables.items()},
    }  # fmt: skip
    write_pages(folder, published.title, sections)
    write_text(folder / RESULTS, json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n", force=True)
    failed = {f"{name}: {key}": why for name, r in tables.items() for key, why in r.failed.items()}
    return Reproduction(folder, sections, results, failed, comparisons[0])


def _report(comparisons: Sequence[Comparison], folder: Path) -> tuple[list[Section], dict[str, Any]]:
    table = comparisons[0].table
    names = list(dict.fromkeys(name for c in comparisons for name in line_names(c)))
    scores = [read_scores(c) for c in comparisons]
    means = {c.label: mean_scores(values) for c, values in zip(comparisons, scores, strict=True)}
    cells_of = {name: {corpus: by_name[name] for corpus, by_name in means.items() if name in by_name} for name in names}
    notes = [
        "In percent, in brackets 95 % bootstrap intervals over the test documents; bold is within one point of the "
        "best of its column. Each corpus has a report of its own: "
        + ", ".join(f"{c.folder.name}/table.html" for c in comparisons) + ".",
        *table.notes,
        *(f"{c.label}: {problem}" for c in comparisons for problem in c.problems),
    ]  # fmt: skip
    listed = [name for name in names if name in table.published or cells_of[name]]
    published = {name: published_figures(table, name, None) for name in listed}
    grid = results_grid(
        {name: cells for name, cells in cells_of.items() if cells}, published, title=table.title, notes=notes
    )
    more, facts = agreement_sections(
        [(c, scores_by_seed(c, values)) for c, values in zip(comparisons, scores, strict=True)]
    )
    return footnoted([grid, *_curves(comparisons, folder), *more], footnotes(comparisons)), facts


def _curves(comparisons: Sequence[Comparison], folder: Path) -> list[Section]:
    """Draw Fig. S1 of Hessel 2019: a panel for each corpus, of the row AP or else of the first trained row."""
    models, names = [], set()
    for comparison in comparisons:
        first = compared_rows(comparison).get("AP")
        for row in sorted((row for row in comparison.rows if row.recipe), key=lambda row: row is not first):
            model = model_folder(comparison.folder, row.key)
            if (model / LOG).is_file():
                models.append((comparison.label, model))
                names.add(row.name)
                break
    caption = f"Objective and AUC on the validation documents by epoch: {', '.join(sorted(names))}"
    return draw_curves(models, folder, caption)
