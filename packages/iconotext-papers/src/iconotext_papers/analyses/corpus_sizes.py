"""Histograms of the sizes of a corpus's documents, of which Hessel 2019 states mean, median and maximum."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.stats import CorpusStats, Sizes, bins
from iconotext.errors import SettingError
from iconotext_papers.charts import BLUE, ORANGE, check_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 40
"""Maximum number of bars in a panel."""

TICKS = 8
"""Approximate number of ticks below a panel."""

FEW = 7
"""Number of bars that always fit into a panel."""


def write_sizes(corpora: Mapping[str, CorpusStats], path: Path, *, force: bool = False) -> None:
    """Draw two histograms for each corpus, a row for each: sentences and images per document.

    The suffix of ``path`` is ``.svg``, ``.png`` or ``.pdf``; equal numbers give equal SVG files.
    """
    check_figure(path, force=force)
    if not corpora:
        raise SettingError("there are no corpora to draw: name at least one")

    def draw(figure: Figure) -> None:
        rows = figure.subfigures(len(corpora), 1, squeeze=False)[:, 0]
        for (name, numbers), row in zip(corpora.items(), rows, strict=True):
            row.suptitle(f"{name}: {numbers.documents:,} documents", x=0.01, ha="left", fontsize=10, weight="bold")
            left, right = row.subplots(1, 2)
            _panel(left, numbers.sentences, "sentences", BLUE)
            _panel(right, numbers.images, "images", ORANGE)

    write_figure(draw, path, width=7.6, height=2.6 * len(corpora), force=force)


def _panel(axes: Axes, sizes: Sizes, noun: str, colour: str) -> None:
    from matplotlib.ticker import MaxNLocator

    bars = bins(sizes.histogram, BARS)
    width = next((bar.high - bar.low + 1 for bar in bars if bar.high is not None), 1)
    shift = 0 if width > 1 else -0.5  # bars of one size stand over its number, others between two numbers
    axes.bar(
        [bar.low + shift for bar in bars],
        [bar.count for bar in bars],
        width=0.92 * width,
        align="edge",
        color=[colour if bar.high is not None else f"{colour}80" for bar in bars],
    )
    low, end = (bars[0].low, bars[-1].low) if bars else (0, 1)
    ticks = [tick for tick in MaxNLocator(nbins=TICKS, integer=True).tick_values(low, end) if low <= tick <= end]
    labels = [f"{tick:g}" for tick in ticks]
    if bars and bars[-1].high is None:  # its bar is as wide as the others, however far its sizes go
        near = [i for i, tick in enumerate(ticks) if tick > end - (end - low) / TICKS]
        ticks = [*ticks[: min(near, default=len(ticks))], end + width / 2 + shift]
        labels = [*labels[: len(ticks) - 1], bars[-1].label]
    axes.set_xticks(ticks, labels)
    axes.set_ylim(bottom=0, top=None if bars else 1)
    if len(bars) < FEW:  # else a few bars would fill the whole panel
        middle = (low + end + width) / 2 + shift
        axes.set_xlim(middle - FEW * width / 2, middle + FEW * width / 2)
    axes.set_title(f"median {sizes.median:g}, mean {sizes.mean:.1f}, max {sizes.max:,}", loc="right", fontsize=8)
    axes.set_xlabel(f"{noun} per document")
    axes.set_ylabel("documents")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
