"""Drawings of the models page: curves of training, and how the AUC is spread over documents. The pool draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from iconotext.papers.analyses.drawing import BLUE, ORANGE, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INKS = {False: ("#23211d", "#69645b", BLUE, ORANGE), True: ("#e4e0d8", "#a39d92", "#7db4f0", "#f0a070")}
"""By whether the page is dark: the colours of text, of axes, and of the two series; as in ``page.css``."""

BINS = 20
"""Bars of a histogram from 0 to 100 %."""


class Series(NamedTuple):
    """A line over epochs; NaN where nothing was logged."""

    label: str
    values: tuple[float, ...]
    dashed: bool = False


def curve_chart(epochs: Sequence[int], series: Sequence[Series], unit: str, best: int | None, dark: bool) -> bytes:
    """Lines over epochs, as SVG.

    Args:
        series: At most two in colours of their own, and dashed ones.
        best: The epoch that was kept; None where none is known.
    """

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        colours = iter(INKS[dark][2:])
        for line in series:
            colour = INKS[dark][1] if line.dashed else next(colours)
            style, dots = ("--", "") if line.dashed else ("-", "o" if len(epochs) <= 15 else "")
            axes.plot(epochs, line.values, color=colour, linestyle=style, marker=dots, markersize=3, label=line.label)
        if best:
            axes.axvline(best, color=INKS[dark][1], linewidth=0.8, linestyle=":", label=f"kept: epoch {best}")
        axes.set_xlabel("epoch")
        axes.set_ylabel(unit)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    return _chart(draw, dark)


def histogram(values: Sequence[float], mean: float, dark: bool) -> bytes:
    """How many documents have which AUC, and where the mean is, as SVG; values from 0 to 1."""

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        percents = [100 * value for value in values]
        axes.hist(percents, bins=[100 * n / BINS for n in range(BINS + 1)], color=INKS[dark][2], rwidth=0.9)
        axes.axvline(100 * mean, color=INKS[dark][3], linewidth=1.5, label=f"mean: {100 * mean:.1f} %")
        axes.set_xlim(0, 100)
        axes.set_xlabel("AUC of a document (%)")
        axes.set_ylabel("documents")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))

    return _chart(draw, dark)


def _chart(draw: Callable[[Axes], None], dark: bool) -> bytes:
    ink, axis, *_ = INKS[dark]
    style = {
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), ink),
        **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), axis),
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    }

    def on(figure: Figure) -> None:
        draw(figure.subplots())
        figure.legend(loc="outside upper left", ncols=2, fontsize=8, frameon=False)

    return drawn(on, "svg", width=4.6, height=2.7, style=style)
