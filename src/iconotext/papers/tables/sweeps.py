"""Sweeps of a setting: the models of Fig. 8 of Alikhani 2021, and the share of labelled documents of Li 2021.

``sweep_sections`` shows the median rank by the weight of the coherence objective, and by the length of texts;
``share_sections`` shows from which share of labels on the supervised model is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import CorpusError
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.evaluate.results import Evaluation
from iconotext.papers.analyses.drawing import BLUE, ORANGE, legend_above, write_figure
from iconotext.papers.analyses.seeds import differences, over_seeds
from iconotext.papers.published import published_facts
from iconotext.papers.render import Drawing, Grid, Section, difference
from iconotext.papers.tables.results_grid import SHOWN, BySeed
from iconotext.papers.tables.rows import Row
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from iconotext.papers.tables.retrieval import Scores
    from iconotext.recipe import Recipe


SHARES_FIGURE, FIGURE_PNG = "shares.svg", "shares.png"

_COLOURS = ("#b4470f", "#2f7d4f", "#7a4fa3", "#555555")


def share_sections(
    rows: Sequence[Row], found: Mapping[str, BySeed], folder: Path
) -> tuple[list[Section], dict[str, Any]]:
    """Draw the figure, and find the share from which on the supervised model is better, from scores by row and seed.

    Returns:
        The parts of the report, and the entry ``overtaking`` of ``results.json``.
    """
    supervised = {row.share: found[row.name] for row in rows if row.share is not None and row.name in found}
    others = {row.name: found[row.name] for row in rows if row.share is None and row.name in found}
    if not supervised:
        return [], {}
    means = {share: over_seeds(list(each.values())) for share, each in supervised.items()}
    means_of_others = {name: over_seeds(list(each.values())) for name, each in others.items()}
    for name in (SHARES_FIGURE, FIGURE_PNG):
        write_shares(means, means_of_others, folder / name)
    drawing = Drawing(SHARES_FIGURE, "AUC and p@1 of the supervised model by share of labelled training documents")
    facts: dict[str, Any] = {}
    lines = []
    notes = [
        "Share of the labelled training documents from which on, at it and at all larger ones tried, the supervised "
        "model has the better mean, and from which on the 95 % interval of the difference excludes 0."
    ]
    for name, by_seed in others.items():
        enough = published_facts("li2021")["enough_labels"][name]
        facts[name] = {"published": enough / 100}
        cells = []
        for metric in SHOWN:
            level = means_of_others[name].means[metric]
            values = [(share, value) for share, each in means.items() if (value := each.means[metric]) is not None]
            first = None if level is None else overtaking(values, level)
            try:
                low = [(share, differences(each, by_seed)[metric].interval[0]) for share, each in supervised.items()]
                surely = overtaking(low, 0)
            except CorpusError as error:
                notes, surely = [*notes, f"{name} cannot be compared: {error}."], None
            facts[name][metric] = {"from": first, "from_with_certainty": surely}
            cells += [_cell(first, means), _cell(surely, means)]
        lines.append([name, *cells, f"more than {enough} %"])
    if not lines:
        return [drawing], facts
    columns = ["better than"]
    for metric in SHOWN:
        columns += [f"{LINK_METRICS[metric].label}: from", f"{LINK_METRICS[metric].label}: beyond chance from"]
    grid = Grid("Labels that the supervised model needs", [*columns, "published"], lines, list(dict.fromkeys(notes)))
    return [drawing, grid], facts


def overtaking(values: Sequence[tuple[float, float]], level: float) -> float | None:
    """The smallest share from which on the supervised model is better.

    Args:
        values: Share and value, in any order.

    Returns:
        The smallest of the shares such that it, and every larger one, has a value above the level; None where the
        largest has not.
    """
    found = None
    for share, value in sorted(values, reverse=True):
        if value <= level:
            break
        found = share
    return found


def write_shares(supervised: Mapping[float, Evaluation], others: Mapping[str, Evaluation], path: Path) -> None:
    """Draw AUC and p@1 by share, and those of models without labels as dashed lines.

    Args:
        supervised: Share of the training documents whose links are used, 0 to 1, to scores; at least one.
        path: ``.svg``, ``.png`` or ``.pdf``, replaced; equal figures give equal SVG files.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(SHOWN), squeeze=False)[0]
        for panel, metric in zip(panels, SHOWN, strict=True):
            _share_panel(panel, supervised, others, metric)
        legend_above(figure)

    write_figure(draw, path, width=0.6 + 3.6 * len(SHOWN), height=3.1, force=True)


def _share_panel(
    axes: Axes, supervised: Mapping[float, Evaluation], others: Mapping[str, Evaluation], metric: str
) -> None:
    points = [
        (100 * share, 100 * mean, evaluation.intervals[metric])
        for share, evaluation in sorted(supervised.items())
        if (mean := evaluation.means[metric]) is not None
    ]
    shares, means = [share for share, _, _ in points], [mean for _, mean, _ in points]
    axes.plot(shares, means, color=BLUE, marker="o", markersize=4, label="supervised")
    if all(ends is not None for _, _, ends in points):
        low, high = ([100 * ends[end] for _, _, ends in points if ends is not None] for end in (0, 1))
        axes.fill_between(shares, low, high, color=BLUE, alpha=0.15, linewidth=0)
    for number, (name, evaluation) in enumerate(others.items()):
        mean = evaluation.means[metric]
        if mean is not None:
            colour = _COLOURS[number % len(_COLOURS)]
            axes.axhline(100 * mean, color=colour, linestyle="--", linewidth=1.3, label=name)
    axes.set_xlabel("labelled training documents (%)")
    axes.set_ylabel(f"{LINK_METRICS[metric].label} (%)")
    axes.set_xticks(shares)
    axes.grid(alpha=0.25)


def _cell(share: float | None, tried: Mapping[float, object]) -> str:
    return f"not with {100 * max(tried):.0f} %" if share is None else f"{100 * share:.0f} %"


FIGURE = "sweeps.svg"

SWEPT: Mapping[str, Callable[[Recipe], float]] = {
    "λ_cls": lambda recipe: recipe.objective.coherence,
    "words of a text": lambda recipe: 0 if recipe.words is None else recipe.words.max_tokens,
}
"""The key in a recipe of each setting that is varied; in each sweep the other setting has the first row's value."""

SPLITS = {"validation": BLUE, "retrieval": ORANGE}
"""Colour of each part of ``score_retrieval``'s figures."""


def sweep_sections(
    scores: Scores, rows: Sequence[Row], differences: Mapping[str, Mapping[str, Any]], folder: Path
) -> list[Section]:
    """The table of both sweeps, and their drawing.

    Args:
        rows: Of the table, the first one with the values that the paper chose.
        differences: To that row; see ``differences_to``.
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
    """Return the values of a sweep with the names of their rows, ascending; these rows differ in no other setting."""
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


def compared(found: Mapping[str, Any]) -> list[str]:
    """Differences of median rank, R@1 and R@10 with their intervals."""
    if "median_rank" not in found:
        return ["–"] * 3
    ranks, *recalls = ([found[metric]["difference"], *found[metric]["interval"]] for metric in METRICS)
    value, low, high = (f"{each:+.1f}".replace("-", "−") for each in ranks)
    return [f"{value} ({low} to {high})", *(difference(*each) for each in recalls)]


def median_rank(by_seed: Sequence[Mapping[str, Any]]) -> str:
    """Return the median rank with its deviation over the seeds, or of a single one over the draws."""
    ranks = [each["median_rank"] for each in by_seed]
    spread = float(np.std(ranks, ddof=1)) if len(ranks) > 1 else by_seed[0]["deviations"]["median_rank"]
    return _median(float(np.mean(ranks)), spread)


METRICS = ("median_rank", "r@1", "r@10")


def _median(value: float, spread: float | None) -> str:
    return f"{value:.1f}" + (f" ± {spread:.1f}" if spread is not None else "")
