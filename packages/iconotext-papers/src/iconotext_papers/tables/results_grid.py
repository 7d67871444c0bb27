"""Our figures of links beside published ones, with their intervals, and the spread of each row over its seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from iconotext.errors import CorpusError
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.evaluate.results import Evaluation
from iconotext.report.tables import Bold, Grid, difference, percent
from iconotext_papers.analyses.seeds import Difference, differences, spread_over_seeds
from iconotext_papers.published import Cells, published_facts

COMPARED = ("auc", "p@1")
"""The metrics that are compared."""

BySeed = Mapping[int, "Evaluation"]
"""Scores by seed."""


def compare_rows(
    rows: Mapping[str, BySeed], reference: str, compared_with: Mapping[str, str] | None = None
) -> tuple[Grid | None, dict[str, dict[str, Any]]]:
    """Compare every row with one of them.

    Args:
        compared_with: Rows that are compared with another row than the reference, by name.

    Return the table, None without rows to compare; and the entries ``spread`` and ``difference`` of ``results.json``.
    """
    facts: dict[str, dict[str, Any]] = {}
    reference = reference if reference in rows else next(iter(rows), reference)
    lines, notes = [], [
        "In points. Spread: standard deviation over the seeds. Differences are paired, document by document and seed "
        "by seed; in brackets 95 % bootstrap intervals for which documents and seeds are drawn anew, and in how many "
        "seeds the difference has this sign.",
    ]  # fmt: skip
    for name, by_seed in rows.items():
        other = (compared_with or {}).get(name, reference)
        other = other if other in rows else reference
        spread = spread_over_seeds(list(by_seed.values()))
        by_metric: dict[str, Difference] = {}
        if name != other and set(by_seed) & set(rows[other]):
            try:
                by_metric = differences(by_seed, rows[other])
            except CorpusError as error:
                notes.append(f"{name} cannot be compared: {error}.")
        dicts = {metric: asdict(d) for metric, d in by_metric.items()}
        facts[name] = {"spread": spread, "difference": {"to": other, **dicts} if by_metric else None}
        cells = [name, f"{len(by_seed)}"]
        for metric in COMPARED:
            cells.append(f"± {percent(spread[metric])}" if spread[metric] is not None else "–")
        cells.append(other if by_metric else "–")
        cells += [_difference_cell(by_metric[metric]) if by_metric else "–" for metric in COMPARED]
        lines.append(cells)
    if len(rows) < 2 and all(len(by_seed) < 2 for by_seed in rows.values()):
        return None, facts
    labels = [LINK_METRICS[metric].label for metric in COMPARED]
    spreads, changes = ([f"{label}: {what}" for label in labels] for what in ("spread", "difference"))
    return Grid("Differences of rows", ["", "seeds", *spreads, "compared with", *changes], lines, notes), facts


def _difference_cell(delta: Difference) -> str:
    cell = difference(delta.difference, *delta.interval)
    return f"{cell}, {delta.same_sign} of {delta.seeds}" if delta.seeds > 1 else cell


GRID_METRICS = ("auc", "p@1", "p@5")

WITHIN = 1.0
"""Percentage points within which a figure counts as good as the best of its column. Hessel 2019 says "within 1 % of the
best-in-column performance". Its AUC columns follow this rule exactly. Its columns of p@1/p@5 are bold as pairs, by no
rule that we could find, so we judge the two numbers separately."""


class Figure(NamedTuple):
    """One figure, in percent, with its 95 % interval where there is one."""

    value: float
    interval: tuple[float, float] | None = None


def results_grid(
    rows: Mapping[str, Mapping[str, Evaluation]],
    published: Cells | None = None,
    *,
    title: str = "",
    notes: Sequence[str] = (),
) -> Grid:
    """Set our figures beside published ones; figures within 1 point of the best of their column are bold.

    Args:
        published: The result of ``iconotext_papers.published.published_cells``; rows that only it has are included,
            too.

    Returns:
        Our data sets that the paper lacks, then the published ones, each with ours of that name before it; rows in the
        published order, ours that it lacks at the end. Each data set has two columns: AUC, and p@1 / p@5.
    """
    published = published or {}
    groups = _groups(rows, published)
    figures = {
        name: [
            figure
            for group, is_measured in groups
            for figure in (
                _measured_figures(rows.get(name, {}).get(group))
                if is_measured
                else _published_figures(published.get(name, {}).get(group))
            )
        ]
        for name in dict.fromkeys([*published, *rows])
    }
    best = [
        max((figure.value for figure in column if figure is not None), default=None)
        for column in zip(*figures.values(), strict=True)
    ]
    columns = [(head, name) for head in _heads(groups) for name in ("AUC", "p@1 / p@5")]
    return Grid(title, ["", *columns], [[name, *_cells(row, best)] for name, row in figures.items()], notes)


def losses_grid(
    rows: Mapping[str, Mapping[str, Evaluation]],
    losses: Mapping[str, Mapping[str, float]],
    published: Cells,
    *,
    title: str,
    notes: Sequence[str],
) -> Grid:
    """Make the table of the supplement's §2: AUC, and the negative loss on test documents, beside published figures."""
    groups = _groups(rows, published)

    def cells(name: str, group: str, is_measured: bool) -> list[Sequence[str]]:
        if is_measured:
            loss = losses.get(name, {}).get(group)
            area = _text(_measured_figures(rows.get(name, {}).get(group))[0], None)
            return [area or "–", "–" if loss is None else f"{-loss:.3f}"]
        figures = published.get(name, {}).get(group, (math.nan, math.nan))
        return ["–" if math.isnan(x) else f"{x:.{digits}f}" for x, digits in zip(figures, (1, 2), strict=True)]

    names = dict.fromkeys([*published, *rows])
    lines = [[name, *(cell for group in groups for cell in cells(name, *group))] for name in names]
    minus = "−L: minus the mean loss on the test documents, by their own negatives; higher is better."
    columns: list[str | tuple[str, str]] = ["", *((head, name) for head in _heads(groups) for name in ("AUC", "−L"))]
    return Grid(title, columns, lines, [*notes, minus, *_loss_notes(losses)])


def _loss_notes(losses: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Compare, on each data set, the losses of the table's two rows: first fixed image features, then fine-tuned."""
    better = published_facts("hessel2019")["fine_tuned_better"]
    for group in dict.fromkeys(group for values in losses.values() for group in values):
        of_group = {name: values[group] for name, values in losses.items() if group in values}
        if len(of_group) == 2:
            (first, fixed), (second, tuned) = of_group.items()
            less = f"{abs(1 - tuned / fixed):.0%}" if fixed else "–"
            yield (
                f"{group}: the loss of {second} is {less} {'lower' if tuned < fixed else 'higher'} than that of "
                f"{first} (published: about {better} % lower on WIKI)."
            )


def _groups(rows: Mapping[str, Mapping[str, Any]], published: Cells) -> list[tuple[str, bool]]:
    """Return our data sets that the paper lacks, then those of the paper, each with True for ours, False for its."""
    measured = dict.fromkeys(name for cells in rows.values() for name in cells)
    printed = dict.fromkeys(name for cells in published.values() for name in cells)
    names = dict.fromkeys([*(name for name in measured if name not in printed), *printed])
    return [(name, flag) for name in names for flag in (True, False) if name in (measured if flag else printed)]


def _heads(groups: Sequence[tuple[str, bool]]) -> list[str]:
    if all(is_measured for _, is_measured in groups):
        return [group for group, _ in groups]
    return [f"{group} ({'ours' if is_measured else 'published'})" for group, is_measured in groups]


def is_bold(value: float, best: float | None) -> bool:
    """Tell whether a figure, in percent, is within 1 point of the best of its column, both as printed (one decimal)."""
    return best is not None and round(best, 1) - round(value, 1) <= WITHIN + 1e-9  # 64.4 - 63.4 is a little above 1


def _measured_figures(evaluation: Evaluation | None) -> list[Figure | None]:
    if evaluation is None:
        return [None] * len(GRID_METRICS)
    return [
        None if mean is None or ends is None else Figure(100 * mean, (100 * ends[0], 100 * ends[1]))
        for mean, ends in ((evaluation.means[metric], evaluation.intervals[metric]) for metric in GRID_METRICS)
    ]


def _published_figures(figures: Sequence[float] | None) -> list[Figure | None]:
    return [None] * len(GRID_METRICS) if figures is None else [Figure(figure) for figure in figures]


def _cells(figures: Sequence[Figure | None], best: Sequence[float | None]) -> list[Sequence[str]]:
    texts = [_text(figure, top) for figure, top in zip(figures, best, strict=True)]
    cells: list[Sequence[str]] = []
    for start in range(0, len(texts), len(GRID_METRICS)):
        area, p1, p5 = texts[start : start + len(GRID_METRICS)]
        cells += [area or "–", [*(p1 or "–"), "/", *(p5 or "–")] if p1 or p5 else "–"]
    return cells


def _text(figure: Figure | None, best: float | None) -> list[str]:
    if figure is None:
        return []
    number = f"{figure.value:.1f}"
    text = Bold(number) if is_bold(figure.value, best) else number
    return [text] if figure.interval is None else [text, f"({figure.interval[0]:.1f}–{figure.interval[1]:.1f})"]
