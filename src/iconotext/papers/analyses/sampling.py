"""How often the links that training takes for likely, or for unlikely, are gold links, by epoch.

Li 2021 trust that NegTK "will have a high probability to choose those image-sentence pairs without an edge", and that
TK chooses pairs that have one, and measure neither. ``iconotext.train.sampling`` counts both while a model is trained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import CorpusError
from iconotext.papers.analyses.curves import Curve, read_log, write_panels
from iconotext.papers.analyses.drawing import BLUE, ORANGE
from iconotext.papers.render import Grid
from iconotext.plain_text import percent
from iconotext.train.sampling import SAMPLE, Sampling

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def read_sampling(folder: Path) -> Curve:
    """The shares of gold links by epoch; see ``Sampling``.

    Raises:
        CorpusError: See ``read_log``; or nothing was counted.
    """
    found = read_log(folder, Sampling._fields)
    if any(math.isnan(share) for shares in found.values.values() for share in shares):
        raise CorpusError(
            f"{folder}: nothing was counted while it was trained: its training documents have no gold links, or it "
            "samples pairs at random, or has them given"
        )
    return found


def sampling_grid(found: Sequence[Curve]) -> Grid:
    """The first and the last epoch of each run, for people."""
    rows = [
        [f"{each.name}, epoch {each.epochs[at]}", *(percent(each.values[name][at], 1) for name in Sampling._fields)]
        for each in found
        for at in ((0, -1) if len(each.epochs) > 1 else (0,))
    ]
    note = f"Means over up to {SAMPLE} training documents with gold links, which training itself does not see."
    columns = ["gold links among", "likely links (TK)", "unlikely links (NegTK)", "all pairs"]
    return Grid("", columns, rows, [note])


def write_sampling(found: Sequence[Curve], path: Path, *, force: bool = False) -> None:
    """Draw a panel for each run; see ``write_panels``."""
    write_panels(found, _panel, path, force=force)


def _panel(axes: Axes, curve: Curve) -> None:
    from matplotlib.ticker import MaxNLocator

    lines = (("likely links (TK)", BLUE, "-"), ("unlikely links (NegTK)", ORANGE, "-"), ("all pairs", "grey", ":"))
    for (label, colour, style), shares in zip(lines, curve.values.values(), strict=True):
        axes.plot(curve.epochs, [100 * share for share in shares], color=colour, linestyle=style, label=label)
    axes.set_title(curve.name, fontsize=10)
    axes.set_xlabel("epoch")
    axes.set_ylabel("of these, gold links (%)")
    axes.set_ylim(0, 100)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    axes.legend(loc="best", fontsize=8, frameon=False)
