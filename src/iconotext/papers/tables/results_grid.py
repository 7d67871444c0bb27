"""Our figures of links, with their intervals, beside published ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from iconotext.papers.published import Cells, published_facts
from iconotext.papers.render import Bold, Grid

if TYPE_CHECKING:
    from iconotext.evaluate.results import Evaluation

METRICS = ("auc", "p@1", "p@5")

WITHIN = 1.0
"""Percentage points within which a figure counts as good as the best of its column.

The paper says "within 1 % of the best-in-column performance". Its AUC columns follow this rule exactly. Its columns
of p@1/p@5 are bold as pairs, by no rule that we could find, so we judge the two numbers apart."""


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
    """Set our figures beside published ones; what is within 1 point of the best of its column is bold.

    Args:
        rows: Name of the row, as the published table has it, to name of our data set to scores.
        published: As ``iconotext.papers.published.published_cells`` gives them; rows that only it has are kept, too.

    Returns:
        Our data sets that the paper lacks, then the published ones, each with ours of that name before it; rows in the
        published order, ours that it lacks at the end. Each data set has two columns: AUC, and p@1 / p@5.
    """
    published = published or {}
    ours = dict.fromkeys(name for each in rows.values() for name in each)
    theirs = dict.fromkeys(name for each in published.values() for name in each)
    groups = _groups(ours, theirs)
    figures = {
        name: [
            figure
            for group, mine in groups
            for figure in (
                _ours(rows.get(name, {}).get(group)) if mine else _theirs(published.get(name, {}).get(group))
            )
        ]
        for name in dict.fromkeys([*published, *rows])
    }
    best = [
        max((each.value for each in column if each is not None), default=None)
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
    """The table of the supplement's §2: AUC, and the negative loss on the test documents, ours beside published ones.

    Args:
        rows: Name of the row to name of our data set to scores.
        losses: Likewise the mean loss; two rows of one data set are compared with each other.
        published: AUC, not a number where it is not known, and negative loss.
    """
    ours = dict.fromkeys(name for each in rows.values() for name in each)
    theirs = dict.fromkeys(name for each in published.values() for name in each)
    groups, lines = _groups(ours, theirs), []
    for name in dict.fromkeys([*published, *rows]):
        cells: list[Sequence[str]] = [name]
        for group, mine in groups:
            if mine:
                own = losses.get(name, {}).get(group)
                cells += [_text(_ours(rows.get(name, {}).get(group))[0], None) or "–"]
                cells += ["–" if own is None else f"{-own:.3f}"]
            else:
                area, loss = published.get(name, {}).get(group, (math.nan, math.nan))
                cells += ["–" if math.isnan(each) else f"{each:.{digits}f}" for each, digits in ((area, 1), (loss, 2))]
        lines.append(cells)
    better = published_facts("hessel2019")["fine_tuned_better"]
    notes = [*notes, "−L: minus the mean loss on the test documents, by their own negatives; higher is better."]
    for group in ours:
        known = {name: each[group] for name, each in losses.items() if group in each}
        if len(known) == 2:
            (first, fixed), (second, tuned) = known.items()
            less = f"{abs(1 - tuned / fixed):.0%}" if fixed else "–"
            notes.append(
                f"{group}: the loss of {second} is {less} {'lower' if tuned < fixed else 'higher'} than that of "
                f"{first} (published: about {better} % lower on WIKI)."
            )
    return Grid(title, ["", *((head, name) for head in _heads(groups) for name in ("AUC", "−L"))], lines, notes)


def _groups(ours: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, bool]]:
    """Our data sets that the paper lacks, then the paper's; each name with whether it is ours, ours first."""
    names = dict.fromkeys([*(each for each in ours if each not in set(theirs)), *theirs])
    return [(name, mine) for name in names for mine in (True, False) if name in (set(ours) if mine else set(theirs))]


def _heads(groups: Sequence[tuple[str, bool]]) -> list[str]:
    published = any(not mine for _, mine in groups)
    return [f"{group} ({'ours' if mine else 'published'})" if published else group for group, mine in groups]


def is_bold(value: float, best: float | None) -> bool:
    """Whether a figure, in percent, is within 1 point of the best of its column, both as printed (one decimal)."""
    return best is not None and round(best, 1) - round(value, 1) <= WITHIN + 1e-9


def _ours(evaluation: Evaluation | None) -> list[Figure | None]:
    if evaluation is None:
        return [None] * len(METRICS)
    return [
        None if mean is None or ends is None else Figure(100 * mean, (100 * ends[0], 100 * ends[1]))
        for mean, ends in ((evaluation.means[metric], evaluation.intervals[metric]) for metric in METRICS)
    ]


def _theirs(figures: Sequence[float] | None) -> list[Figure | None]:
    return [None] * len(METRICS) if figures is None else [Figure(figure) for figure in figures]


def _cells(figures: Sequence[Figure | None], best: Sequence[float | None]) -> list[Sequence[str]]:
    """Two cells for the three figures of each data set."""
    texts = [_text(figure, top) for figure, top in zip(figures, best, strict=True)]
    cells: list[Sequence[str]] = []
    for start in range(0, len(texts), len(METRICS)):
        area, one, five = texts[start : start + len(METRICS)]
        cells += [area or "–", [*(one or "–"), "/", *(five or "–")] if one or five else "–"]
    return cells


def _text(figure: Figure | None, best: float | None) -> list[str]:
    if figure is None:
        return []
    number = f"{figure.value:.1f}"
    shown = Bold(number) if is_bold(figure.value, best) else number
    return [shown] if figure.interval is None else [shown, f"({figure.interval[0]:.1f}–{figure.interval[1]:.1f})"]
