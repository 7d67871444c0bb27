"""Writes figures with ``write_figure``: equal numbers give equal SVG files, without windows and global state."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

from iconotext.corpus.stats import CorpusStats, Sizes, bins
from iconotext.errors import OutputError, SettingError
from iconotext.extras import require
from iconotext.plain_text import readable
from iconotext.system.files import check_overwrite, write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
BLUE, ORANGE = "#255f9e", "#b4470f"

LINE, LETTER = 0.7, 0.07
"""Width in inches of the line in an entry of a legend, and largest width of each letter after it."""


def check_figure(path: Path, *, force: bool = False) -> None:
    """Check a path for ``write_figure``, before the work that makes its content."""
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        raise OutputError(f"{path}: figures are written as {', '.join(FORMATS)}; give the file such a suffix")
    check_overwrite(path, force)
    require("papers", "matplotlib", purpose="drawing a figure")


def legend_above(figure: Figure) -> None:
    """Draw one legend for all panels above them, where it covers no curve; equal labels occur once."""
    lines: dict[str, Any] = {}
    for axes in figure.axes:
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True):
            lines.setdefault(label, line)
    columns = int(figure.get_figwidth() / (LINE + LETTER * max(map(len, lines), default=0)))
    columns = max(1, min(columns, len(lines)))
    figure.legend([*lines.values()], [*lines], loc="outside upper left", ncols=columns, fontsize=8, frameon=False)


def write_figure(
    draw: Callable[[Figure], None], path: Path, *, width: float, height: float, force: bool = False
) -> None:
    """Draw a figure and write it.

    Args:
        path: ``.svg``, ``.png`` or ``.pdf``.
    """
    check_figure(path, force=force)
    kind = path.suffix.lower().removeprefix(".")
    write_bytes(path, drawn(draw, kind, width=width, height=height), force=force)


def drawn(
    draw: Callable[[Figure], None], kind: str, *, width: float, height: float, style: Mapping[Any, Any] | None = None
) -> bytes:
    """A figure as the bytes of a file of a type in ``FORMATS``; ``style`` is used in addition to ours."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    # Without pyplot there is no global state, and no window is opened.
    own: dict[Any, Any] = {"svg.hashsalt": "iconotext", "svg.fonttype": "none", "font.size": 9, **(style or {})}
    with mpl.rc_context(own), catch_warnings():
        filterwarnings("ignore", "Glyph .* missing from")  # viewers of SVG have other fonts
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        for text in figure.findobj(Text):
            assert isinstance(text, Text)
            if text.get_text():  # axis numbers are added later
                # Names of files and models are plain text: no "$" for formulas, no control characters, which break SVG.
                text.set_text(readable(text.get_text()))
                text.set_parse_math(False)
        file = io.BytesIO()
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(file, format=kind, dpi=200, metadata=dates.get(kind, {}))
    return file.getvalue()


BARS = 40
"""Maximum number of bars in a panel."""

TICKS = 8
"""Approximate number of ticks below a panel."""

FEW = 7
"""Number of bars that always fit into a panel."""


def write_sizes(corpora: Mapping[str, CorpusStats], path: Path, *, force: bool = False) -> None:
    """Draw two histograms for each corpus, a row for each: sentences and images per document.

    Args:
        path: ``.svg``, ``.png`` or ``.pdf``; equal numbers give equal SVG files.
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


def _panel(axes: Axes, sizes: Sizes, what: str, colour: str) -> None:
    from matplotlib.ticker import MaxNLocator

    found = bins(sizes.histogram, BARS)
    width = next((each.high - each.low + 1 for each in found if each.high is not None), 1)
    shift = 0 if width > 1 else -0.5  # bars of one size stand over its number, others between two numbers
    axes.bar(
        [each.low + shift for each in found],
        [each.count for each in found],
        width=0.92 * width,
        align="edge",
        color=[colour if each.high is not None else f"{colour}80" for each in found],
    )
    low, end = (found[0].low, found[-1].low) if found else (0, 1)
    ticks = [tick for tick in MaxNLocator(nbins=TICKS, integer=True).tick_values(low, end) if low <= tick <= end]
    labels = [f"{tick:g}" for tick in ticks]
    if found and found[-1].high is None:  # its bar is as wide as the others, however far its sizes go
        near = [i for i, tick in enumerate(ticks) if tick > end - (end - low) / TICKS]
        ticks = [*ticks[: min(near, default=len(ticks))], end + width / 2 + shift]
        labels = [*labels[: len(ticks) - 1], found[-1].label]
    axes.set_xticks(ticks, labels)
    axes.set_ylim(bottom=0, top=None if found else 1)
    if len(found) < FEW:  # a lonely bar is no wall
        middle = (low + end + width) / 2 + shift
        axes.set_xlim(middle - FEW * width / 2, middle + FEW * width / 2)
    axes.set_title(f"median {sizes.median:g}, mean {sizes.mean:.1f}, max {sizes.max:,}", loc="right", fontsize=8)
    axes.set_xlabel(f"{what} per document")
    axes.set_ylabel("documents")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
