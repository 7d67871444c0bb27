"""Charts with matplotlib: their colours, their legend, and ``write_figure``.

Equal numbers give equal SVG files, and there are no windows and no global state.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

from iconotext.errors import OutputError
from iconotext.plain_text import readable
from iconotext.system.files import check_overwrite, write_bytes
from iconotext_papers import need

if TYPE_CHECKING:
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
    need("matplotlib")


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
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    # Without pyplot there is no global state, and no window is opened.
    settings: dict[Any, Any] = {"svg.hashsalt": "iconotext", "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(settings), catch_warnings():
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
        file, kind = io.BytesIO(), path.suffix.lower().removeprefix(".")
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # equal figures give equal files
        figure.savefig(file, format=kind, dpi=200, metadata=dates.get(kind, {}))
    write_bytes(path, file.getvalue(), force=force)
