"""Fig. 8 of Alikhani 2021: the median rank by the weight of the coherence objective, and by the length of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.papers.analyses.drawing import BLUE, ORANGE, legend_above, write_figure
from iconotext.papers.render import Drawing, Grid, Section
from iconotext.papers.tables.retrieval_sections import compared, median_rank
from iconotext.papers.tables.rows import Row
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from iconotext.papers.tables.retrieval_differences import Scores
    from iconotext.recipe import Recipe

FIGURE = "sweeps.svg"

SWEPT: Mapping[str, Callable[[Recipe], float]] = {
    "λ_cls": lambda recipe: recipe.objective.coherence,
    "words of a text": lambda recipe: 0 if recipe.words is None else recipe.words.max_tokens,
}
"""What is swept to where it stands in a recipe; each sweep has the first row's value of the other."""

SPLITS = {"validation": BLUE, "retrieval": ORANGE}
"""Part of ``score_retrieval``'s figures to its colour."""


def sweep_sections(
    scores: Scores, rows: Sequence[Row], differences: Mapping[str, Mapping[str, Any]], folder: Path
) -> list[Section]:
    """The table of both sweeps, and their drawing.

    Args:
        rows: Of the table, the first one with the values that the paper chose.
        differences: To that row; see ``differences_to``.
        folder: Where the drawing goes: a panel for each sweep, validation and test pairs a line each.
    """

    def draw(canvas: Figure) -> None:
        for axes, what in zip(canvas.subplots(1, len(SWEPT)), SWEPT, strict=True):
            _panel(axes, what, [(value, name) for value, name in swept(rows, what) if name in scores], scores)
        legend_above(canvas)

    seeds = max(map(len, scores.values()))
    lines = []
    for name, by_seed in scores.items():
        ranks = [median_rank([each[split] for each in by_seed.values()]) for split in SPLITS]
        lines.append([name, *ranks, compared(differences.get(name, {}))[0]])
    columns = ["", "validation MedR", "test MedR", f"test MedR − {rows[0].name}"]
    notes = [
        f"Median ranks (± standard deviation over the {'seeds' if seeds > 1 else 'draws'}), {counted(seeds, 'seed')}. "
        "The paper chose by such a drawing and does not say of which pairs; choose a value on validation pairs. "
        "Differences are paired query by query and seed by seed, with 95 % bootstrap intervals."
    ]
    write_figure(draw, folder / FIGURE, width=8.4, height=3.2, force=True)
    return [Grid("Figure 8 of Alikhani et al. 2021", columns, lines, notes), Drawing(FIGURE, "Median rank by value")]


def swept(rows: Sequence[Row], what: str) -> list[tuple[float, str]]:
    """The values of a sweep with the names of their rows, ascending: all that differ from the first in this alone."""
    first = rows[0].recipe
    found = []
    for row in rows:
        if row.recipe is not None and first is not None:
            others = [value for name, value in SWEPT.items() if name != what]
            if all(value(row.recipe) == value(first) for value in others):
                found.append((SWEPT[what](row.recipe), row.name))
    return sorted(found)


def _panel(axes: Axes, what: str, values: Sequence[tuple[float, str]], scores: Scores) -> None:
    for split, color in SPLITS.items():
        ranks = [[each[split]["median_rank"] for each in scores[name].values()] for _, name in values]
        means = [float(np.mean(each)) for each in ranks]
        spreads = [float(np.std(each, ddof=1)) if len(each) > 1 else 0.0 for each in ranks]
        label = "test" if split == "retrieval" else split
        axes.errorbar([x for x, _ in values], means, spreads, color=color, marker="o", markersize=3, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(what)
    axes.set_ylabel("median rank")
    axes.grid(alpha=0.25)
