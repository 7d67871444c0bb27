"""Training curves: the objective on the validation documents and their AUC, by epoch (Hessel 2019, Fig. 3, S1)."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from iconotext.errors import CorpusError, SettingError
from iconotext.papers.analyses.drawing import BLUE, ORANGE, check_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")

LOG = "log.csv"
EPOCH = "epoch"
COLUMNS = ("validation_loss", "validation_auc")

_ACROSS = 4  # panels side by side, as in the supplement


@dataclass(frozen=True, slots=True)
class Curve:
    """What a training run logged.

    Attributes:
        name: Of the model.
        epochs: Ascending.
        objective: Minus the loss on the validation documents; NaN where none was logged.
        auc: Mean AUC on the validation documents, 0 to 1; NaN where none was logged.
    """

    name: str
    epochs: tuple[int, ...]
    objective: tuple[float, ...]
    auc: tuple[float, ...]

    def as_dict(self) -> dict[str, object]:
        """For JSON; what was not logged is None."""
        return {
            "model": self.name,
            "epochs": list(self.epochs),
            "objective": [None if math.isnan(value) else value for value in self.objective],
            "auc": [None if math.isnan(value) else value for value in self.auc],
        }


def read_curve(folder: Path) -> Curve:
    """Read the ``log.csv`` of a model folder; see ``read_log``."""
    name, epochs, (losses, aucs) = read_log(folder, COLUMNS)
    return Curve(name, epochs, tuple(-loss for loss in losses), aucs)


def read_log(folder: Path, columns: Sequence[str]) -> tuple[str, tuple[int, ...], tuple[tuple[float, ...], ...]]:
    """The name of a trained model, its epochs, and columns of its ``log.csv``; NaN where nothing was logged.

    An epoch that stands there twice, because the run was stopped and resumed, counts as it was logged last.

    Raises:
        CorpusError: The file is missing, lacks a column, or has something that is not a number; names line and column.
    """
    path = folder / LOG if folder.is_dir() else folder
    name = (folder if folder.is_dir() else folder.parent).resolve().name
    rows: dict[int, tuple[float, ...]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.DictReader(file)
            missing = [column for column in (EPOCH, *columns) if column not in (lines.fieldnames or ())]
            if missing:
                raise CorpusError(f"{path}: not a training log: the column {missing[0]} is missing")
            for row in lines:
                epoch, *values = (_number(row[column], path, lines.line_num, column) for column in (EPOCH, *columns))
                if math.isnan(epoch):
                    raise CorpusError(f"{path}, line {lines.line_num}, column {EPOCH}: empty")
                rows[int(epoch)] = tuple(values)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}; name folders of trained models") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not a training log: it is not UTF-8 text") from error
    if not rows:
        raise CorpusError(f"{path}: has no epochs yet")
    return name, tuple(sorted(rows)), tuple(zip(*(rows[epoch] for epoch in sorted(rows)), strict=True))


def write_curves(curves: Sequence[Curve], path: Path, *, force: bool = False) -> None:
    """Draw a panel for each run, objective and AUC on an axis each; see ``write_panels``."""
    write_panels(curves, _panel, path, force=force)


def write_panels(
    curves: Sequence[T], draw_panel: Callable[[Axes, T], None], path: Path, *, force: bool = False
) -> None:
    """Draw a panel for each run, and write the figure.

    Args:
        curves: At least one.
        draw_panel: Draws one.
        path: ``.svg``, ``.png`` or ``.pdf``; equal curves give equal SVG files.
        force: Replace a file that is there.

    Raises:
        OutputError: Another suffix; the file exists and ``force`` is not set; it cannot be written.
        SettingError: There are no curves.
    """
    check_figure(path, force=force)
    if not curves:
        raise SettingError("there are no curves to draw: name at least one model folder")
    across = min(len(curves), _ACROSS)
    down = -(-len(curves) // across)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for panel, curve in zip(panels, curves, strict=False):
            draw_panel(panel, curve)
        for panel in panels[len(curves) :]:
            panel.remove()

    write_figure(draw, path, width=0.8 + 3.3 * across, height=0.5 + 2.5 * down, force=force)


def _panel(left: Axes, curve: Curve) -> None:
    from matplotlib.ticker import MaxNLocator

    right = left.twinx()
    few = len(curve.epochs) <= 15
    left.plot(curve.epochs, curve.objective, color=BLUE, marker="o" if few else "", markersize=3, label="objective")
    right.plot(
        curve.epochs,
        [100 * value for value in curve.auc],
        color=ORANGE,
        linestyle="--",
        marker="s" if few else "",
        markersize=3,
        label="AUC",
    )
    left.set_title(curve.name, fontsize=10)
    left.set_xlabel("epoch")
    left.set_ylabel("objective (−loss, validation)", color=BLUE)
    right.set_ylabel("AUC (validation, %)", color=ORANGE)
    left.tick_params(axis="y", colors=BLUE)
    right.tick_params(axis="y", colors=ORANGE)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.grid(axis="x", alpha=0.25)
    lines = [*left.get_lines(), *right.get_lines()]
    left.legend(lines, [str(line.get_label()) for line in lines], loc="lower right", fontsize=8, frameon=False)


def _number(text: str | None, path: Path, line: int, column: str) -> float:
    if text is None or not text.strip():
        return math.nan
    try:
        return float(text)
    except ValueError as error:
        raise CorpusError(f"{path}, line {line}, column {column}: {text!r} is not a number") from error
