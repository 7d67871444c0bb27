"""What labels are worth: a supervised model with a growing share of labelled documents (Li 2021, Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import SettingError
from iconotext.evaluate.drawing import BLUE, check_figure, write_figure
from iconotext.evaluate.results import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from iconotext.evaluate.results import Evaluation

SHOWN = ("auc", "p@1")
"""The metrics that are drawn, a panel each."""

_COLOURS = ("#b4470f", "#2f7d4f", "#7a4fa3", "#555555")


@dataclass(frozen=True, slots=True)
class LabelledShare:
    """The supervised model with some of the labels.

    Attributes:
        share: Of the training documents whose links are used, 0 to 1.
        evaluation: Its scores.
    """

    share: float
    evaluation: Evaluation


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


def write_shares(
    supervised: Sequence[LabelledShare], unsupervised: Mapping[str, Evaluation], path: Path, *, force: bool = False
) -> None:
    """Draw AUC and p@1 by share, and those of models without labels as dashed lines.

    Args:
        supervised: At least one.
        unsupervised: Name of the model to its scores.
        path: ``.svg``, ``.png`` or ``.pdf``; equal figures give equal SVG files.
        force: Replace a file that is there.

    Raises:
        OutputError: See ``write_figure``.
        SettingError: There is nothing to draw.
    """
    check_figure(path, force=force)
    if not supervised:
        raise SettingError("there is no supervised model to draw")
    ordered = sorted(supervised, key=lambda each: each.share)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(SHOWN), squeeze=False)[0]
        for panel, metric in zip(panels, SHOWN, strict=True):
            _panel(panel, ordered, unsupervised, metric)

    write_figure(draw, path, width=0.6 + 3.6 * len(SHOWN), height=3.1, force=force)


def _panel(
    axes: Axes, supervised: Sequence[LabelledShare], unsupervised: Mapping[str, Evaluation], metric: str
) -> None:
    points = [
        (100 * each.share, 100 * mean, each.evaluation.intervals[metric])
        for each in supervised
        if (mean := each.evaluation.means[metric]) is not None
    ]
    shares, means = [share for share, _, _ in points], [mean for _, mean, _ in points]
    axes.plot(shares, means, color=BLUE, marker="o", markersize=4, label="supervised")
    if all(ends is not None for _, _, ends in points):
        low, high = ([100 * ends[end] for _, _, ends in points if ends is not None] for end in (0, 1))
        axes.fill_between(shares, low, high, color=BLUE, alpha=0.15, linewidth=0)
    for number, (name, evaluation) in enumerate(unsupervised.items()):
        mean = evaluation.means[metric]
        if mean is not None:
            colour = _COLOURS[number % len(_COLOURS)]
            axes.axhline(100 * mean, color=colour, linestyle="--", linewidth=1.3, label=name)
    axes.set_xlabel("labelled training documents (%)")
    axes.set_ylabel(f"{LABELS[metric]} (%)")
    axes.set_xticks(shares)
    axes.grid(alpha=0.25)
    axes.legend(loc="best", fontsize=8, framealpha=0.8, edgecolor="none")
