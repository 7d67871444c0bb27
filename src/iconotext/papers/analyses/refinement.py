"""What came of trying λ and T of the refinement: tables, a file and the drawing (Alikhani 2021, Fig. 3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.library.refinement import SETTINGS_FILE, confidence
from iconotext.papers.analyses.drawing import BLUE, ORANGE, write_figure
from iconotext.papers.render import Bold, Grid, Note, Section
from iconotext.write import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from iconotext.papers.analyses.refinement_tuning import Setting, Tuning

FIGURE_FILE = "refinement.svg"


def tuning_sections(tuning: Tuning) -> list[Section]:
    """The median rank for each λ and T, and the best beside no refinement, for people."""
    plain, tried = tuning.settings[0], tuning.settings[1:]
    thresholds = list(dict.fromkeys(setting.threshold for setting in tried))
    by_both = {(setting.strength, setting.threshold): setting for setting in tried}
    rows = []
    for strength in dict.fromkeys(setting.strength for setting in tried):
        ranks = [by_both[strength, threshold] for threshold in thresholds]
        rows.append([f"{strength:g}", *(_median(each, bold=each is tuning.best) for each in ranks)])
    shares = [by_both[tried[0].strength, threshold].hard for threshold in thresholds]
    rows.append(["hard, %", *(f"{100 * share:.0f}" for share in shares)])
    compared = [_figures("not refined", plain)]
    if tuning.best is not plain:
        compared.append(_figures(f"λ = {tuning.best.strength:g}, T = {tuning.best.threshold:g}", tuning.best))
    sections: list[Section] = [
        Grid("Median rank", ["λ \\ T", *(f"{threshold:g}" for threshold in thresholds)], rows),
        Grid("", ["", "Median rank", "Mean rank", "R@1", "R@5", "R@10"], compared),
    ]
    if tuning.best is plain:
        sections.append(Note("No λ and T are better than none: refinement stays off (T = 0)."))
    return sections


def _median(setting: Setting, *, bold: bool) -> str:
    text = f"{setting.metrics.median_rank.mean:.1f}"
    return Bold(text) if bold else text


def _figures(name: str, setting: Setting) -> list[str]:
    metrics = setting.metrics
    ranks = [(metrics.median_rank, 1), (metrics.mean_rank, 1), *((metrics.recall[k], 100) for k in (1, 5, 10))]
    return [
        name,
        *(
            f"{times * figure.mean:.1f}" + ("" if figure.deviation is None else f" ± {times * figure.deviation:.1f}")
            for figure, times in ranks
        ),
    ]


def write_tuning(tuning: Tuning, folder: Path, about: dict[str, Any], *, force: bool = False) -> None:
    """Write the settings and the figure into a folder, the settings last.

    The figure has the confidence in a relation by its probability, a line for each λ (Fig. 3a), and ranks (Fig. 3b).

    Args:
        folder: Made if need be. In a model's folder, ``evaluate`` finds the settings by itself.
        about: What it was tried with, such as model and corpus; stands first in the file.

    Raises:
        OutputError: A file exists and ``force`` is not set, or cannot be written.
    """

    def draw(canvas: Figure) -> None:
        left, right = canvas.subplots(1, 2)
        _confidences(left, sorted({setting.strength for setting in tuning.settings[1:]}), tuning.best.strength)
        _ranks(right, tuning)

    write_figure(draw, folder / FIGURE_FILE, width=9.4, height=3.6, force=force)
    text = json.dumps(about | tuning.as_dict(), ensure_ascii=False, allow_nan=False, indent=1)
    write_text(folder / SETTINGS_FILE, text + "\n", force=force)


def _confidences(axes: Axes, strengths: list[float], chosen: float) -> None:
    """Fig. 3a: exp(λ |x − ½|) for every λ that was tried."""
    x = np.linspace(0, 1, 101)
    for number, strength in enumerate(strengths):
        shade = 0.25 + 0.75 * (number + 1) / len(strengths)
        color, width = (ORANGE, 2.0) if strength == chosen else (BLUE, 1.0)
        values = confidence(x[:, None], strength)
        axes.plot(x, values, color=color, alpha=shade, linewidth=width, label=f"λ = {strength:g}")
    axes.set_xlabel("probability of a relation, x")
    axes.set_ylabel("confidence in it")
    axes.legend(fontsize=6, frameon=False, ncols=2, loc="upper center")
    axes.grid(alpha=0.25)


def _ranks(axes: Axes, tuning: Tuning) -> None:
    """Fig. 3b: the rank of the right image against the difference of the two best ones, without refinement."""
    finite = np.isfinite(tuning.differences)
    points = tuning.differences[finite], tuning.ranks[finite]
    axes.scatter(*points, s=6, alpha=0.3, color=BLUE, linewidths=0, rasterized=True)  # may be many thousands
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(tuning.pool * 1.2, 0.8)  # the best rank on top
    axes.set_xlim(left=0)
    axes.set_xlabel("difference of the two highest similarities, Δ")
    axes.set_ylabel(f"rank of the right image of {tuning.pool}")
    axes.grid(alpha=0.25)
    if 0 < tuning.best.threshold <= max(tuning.differences[finite], default=0):
        axes.axvline(tuning.best.threshold, color=ORANGE, linestyle="--", label=f"T = {tuning.best.threshold:g}")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
