"""Curves from the log of training runs: objective and AUC on the validation documents (Hessel 2019, Fig. 3 and S1)."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import CorpusError, SettingError
from iconotext.train.checkpoint import LOG
from iconotext_papers.charts import BLUE, ORANGE, check_figure, legend_above, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EPOCH = "epoch"

_ACROSS = 4  # panels side by side, as in the supplement


@dataclass(frozen=True, slots=True)
class Curve:
    """Numbers from the log of a training run: one for each of the ascending epochs, NaN where there is none."""

    name: str
    epochs: tuple[int, ...]
    values: Mapping[str, tuple[float, ...]]


def read_curve(folder: Path) -> Curve:
    """Read the ``objective``, minus the loss, and the ``auc`` on validation documents, from the log of a model."""
    path = folder / LOG if folder.is_dir() else folder
    name = (folder if folder.is_dir() else folder.parent).resolve().name
    columns, rows = (EPOCH, "validation_loss", "validation_auc"), list[list[float]]()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.DictReader(file)
            missing = [column for column in columns if column not in (lines.fieldnames or ())]
            if missing:
                raise CorpusError(f"{path}: not a training log: the column {missing[0]} is missing")
            for row in lines:
                rows.append([_number(row[column], path, lines.line_num, column) for column in columns])
                if math.isnan(rows[-1][0]):
                    raise CorpusError(f"{path}, line {lines.line_num}, column {EPOCH}: empty")
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}; name folders of trained models") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not a training log: it is not UTF-8 text") from error
    if not rows:
        raise CorpusError(f"{path}: has no epochs yet")
    epochs, losses, areas = zip(*rows, strict=True)
    return Curve(name, tuple(map(int, epochs)), {"objective": tuple(-loss for loss in losses), "auc": areas})


def objective_panel(left: Axes, curve: Curve) -> None:
    """Draw objective and AUC, on an axis each."""
    from matplotlib.ticker import MaxNLocator

    right = left.twinx()
    few = len(curve.epochs) <= 15
    left.plot(
        curve.epochs,
        curve.values["objective"],
        color=BLUE,
        marker="o" if few else "",
        markersize=3,
        label="objective (left axis)",
    )
    right.plot(
        curve.epochs,
        [100 * value for value in curve.values["auc"]],
        color=ORANGE,
        linestyle="--",
        marker="s" if few else "",
        markersize=3,
        label="AUC (right axis)",
    )
    left.set_title(curve.name, fontsize=10)
    left.set_xlabel("epoch")
    left.set_ylabel("objective (−loss, validation)", color=BLUE)
    right.set_ylabel("AUC (validation, %)", color=ORANGE)
    left.tick_params(axis="y", colors=BLUE)
    right.tick_params(axis="y", colors=ORANGE)
    for axes in (left, right):
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)  # no number beside the title to add to each
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.grid(axis="x", alpha=0.25)


def write_curves(
    curves: Sequence[Curve],
    path: Path,
    *,
    force: bool = False,
) -> None:
    """Draw a panel for each run, and write the figure.

    Args:
        path: ``.svg``, ``.png`` or ``.pdf``; equal curves give equal SVG files.
    """
    check_figure(path, force=force)
    if not curves:
        raise SettingError("there are no curves to draw: name at least one model folder")
    across = min(len(curves), _ACROSS)
    down = -(-len(curves) // across)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for axes, curve in zip(panels, curves, strict=False):
            objective_panel(axes, curve)
        for axes in panels[len(curves) :]:
            axes.remove()
        legend_above(figure)

    write_figure(draw, path, width=0.8 + 3.3 * across, height=0.5 + 2.5 * down, force=force)


def _number(text: str | None, path: Path, line: int, column: str) -> float:
    if text is None or not text.strip():
        return math.nan
    try:
        return float(text)
    except ValueError as error:
        raise CorpusError(f"{path}, line {line}, column {column}: {text!r} is not a number") from error
