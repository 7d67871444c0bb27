"""Fig. 5 of Li 2021: how many labels a supervised model needs to be better than models that need none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import CorpusError
from iconotext.evaluate.results import LABELS, Evaluation
from iconotext.papers.analyses.drawing import BLUE, legend_above, write_figure
from iconotext.papers.analyses.seeds import differences, over_seeds
from iconotext.papers.published import published_facts
from iconotext.papers.render import Drawing, Grid, Section
from iconotext.papers.tables.differences import SHOWN, BySeed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from iconotext.papers.tables.rows import Row

FIGURE, FIGURE_PNG = "shares.svg", "shares.png"

_COLOURS = ("#b4470f", "#2f7d4f", "#7a4fa3", "#555555")


def share_sections(
    rows: Sequence[Row], found: Mapping[str, BySeed], folder: Path
) -> tuple[list[Section], dict[str, Any]]:
    """Draw the figure, and tell from which share on the supervised model is better, from scores by row and seed.

    Returns:
        What is shown, and what ``results.json`` says under ``overtaking``.
    """
    supervised = {row.share: found[row.name] for row in rows if row.share is not None and row.name in found}
    others = {row.name: found[row.name] for row in rows if row.share is None and row.name in found}
    if not supervised:
        return [], {}
    means = {share: over_seeds(list(each.values())) for share, each in supervised.items()}
    means_of_others = {name: over_seeds(list(each.values())) for name, each in others.items()}
    for name in (FIGURE, FIGURE_PNG):
        write_shares(means, means_of_others, folder / name)
    drawing = Drawing(FIGURE, "AUC and p@1 of the supervised model by share of labelled training documents")
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
        columns += [f"{LABELS[metric]}: from", f"{LABELS[metric]}: beyond chance from"]
    grid = Grid("Labels that the supervised model needs", [*columns, "published"], lines, list(dict.fromkeys(notes)))
    return [drawing, grid], facts


def overtaking(values: Sequence[tuple[float, float]], level: float) -> float | None:
    """The smallest share from which on the supervised model is better.

    Args:
        values: Share and value, in any order.
        level: The value of the model that needs no labels.

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

    Raises:
        OutputError: See ``write_figure``.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(SHOWN), squeeze=False)[0]
        for panel, metric in zip(panels, SHOWN, strict=True):
            _panel(panel, supervised, others, metric)
        legend_above(figure)

    write_figure(draw, path, width=0.6 + 3.6 * len(SHOWN), height=3.1, force=True)


def _panel(axes: Axes, supervised: Mapping[float, Evaluation], others: Mapping[str, Evaluation], metric: str) -> None:
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
    axes.set_ylabel(f"{LABELS[metric]} (%)")
    axes.set_xticks(shares)
    axes.grid(alpha=0.25)


def _cell(share: float | None, tried: Mapping[float, object]) -> str:
    return f"not with {100 * max(tried):.0f} %" if share is None else f"{100 * share:.0f} %"
