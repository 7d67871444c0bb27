"""Drawings on the models page: training curves, and the distribution of the AUC over documents.

A template draws them in a millisecond; the library for the papers' figures takes a second to load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from iconotext.serve.page import drawing

INKS = {False: ("#23211d", "#69645b", "#255f9e", "#b4470f"), True: ("#e4e0d8", "#a39d92", "#7db4f0", "#f0a070")}
"""Whether the page is dark, to the colours of text, axes, and the two series; as in ``page.css``."""

BINS = 20
"""Number of bars in a histogram from 0 to 100 %."""

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 442, 259, 58, 14, 34, 46
"""Size of a drawing in pixels, and its margins for numbers and words."""

TICKS = 6
"""Maximum number of ticks on an axis."""


LARGE = 1e30
"""What is not below it is not drawn, as what is no number."""

TINY = 1e-300
"""What is not above it counts as 0: such numbers cannot be divided into steps."""


class Series(NamedTuple):
    """A line over epochs; NaN for missing values."""

    label: str
    values: tuple[float, ...]
    dashed: bool = False


class Line(NamedTuple):
    """A line in SVG: its path, its dash pattern, and the positions of its dots."""

    label: str
    colour: str
    path: str
    dash: str = ""
    dots: Sequence[tuple[float, float]] = ()


class Axis(NamedTuple):
    """The range of an axis, and the pixels of its low and high end."""

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """The pixel of a value, rounded to a tenth."""
        return round(self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin), 1)


def axis(values: Sequence[float], begin: float, end: float, *, whole: bool = False, margin: float = 0.05) -> Axis:
    """An axis with round numbers that includes all values.

    Args:
        values: Finite; without any, the axis goes from 0 to 1.
        whole: Show only integers.
        margin: The share of the axis to leave free at each end.
    """
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = margin * (high - low) if high - low > TINY else 0.5 * (abs(high) if abs(high) > TINY else 1)
    low, high = low - room, high + room
    least = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= least)
    step = max(step, 1.0) if whole else step
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    return Axis(low, high, begin, end, tuple(number * step for number in numbers))


def curve_chart(epochs: Sequence[int], series: Sequence[Series], unit: str, best: int | None, dark: bool) -> str:
    """Lines over epochs, as SVG.

    Args:
        series: At most two in colours of their own, and dashed ones.
        best: The epoch that was kept; None where none is known.
    """
    colours = iter(INKS[dark][2:])
    x = axis(epochs, LEFT, WIDTH - RIGHT, whole=True)
    y = axis([value for line in series for value in line.values if abs(value) < LARGE], HEIGHT - BOTTOM, TOP)
    lines = []
    for line in series:
        points = [(x(n), y(v)) if abs(v) < LARGE else None for n, v in zip(epochs, line.values, strict=True)]
        steps = zip(["M", *("L" if point else "M" for point in points)], points, strict=False)
        path = "".join(f"{step}{point[0]} {point[1]}" for step, point in steps if point)
        dots = [point for point in points if point] if len(epochs) <= 15 and not line.dashed else []
        lines.append(Line(line.label, INKS[dark][1] if line.dashed else next(colours), path, "5 3" * line.dashed, dots))
    if best:
        lines.append(Line(f"kept: epoch {best}", INKS[dark][1], f"M{x(best)} {y.begin}V{y.end}", "1 3"))
    return _drawn(x, y, dark, lines=lines, bars=[], across="epoch", up=unit)


def histogram(values: Sequence[float], mean: float, dark: bool) -> str:
    """A histogram of documents by AUC (0 to 1), with its mean, as SVG."""
    counts = [0] * BINS
    for value in values:
        counts[min(int(value * BINS), BINS - 1)] += 1
    x = axis((0, 100), LEFT, WIDTH - RIGHT, margin=0)
    y = axis((0, 1.05 * max(counts)), HEIGHT - BOTTOM, TOP, whole=True, margin=0)
    wide = (x.end - x.begin) / BINS
    bars = [(round(x.begin + (n + 0.05) * wide, 1), y(many), round(0.9 * wide, 1)) for n, many in enumerate(counts)]
    lines = [Line(f"mean: {100 * mean:.1f} %", INKS[dark][3], f"M{x(100 * mean)} {y.begin}V{y.end}")]
    return _drawn(x, y, dark, lines=lines, bars=bars, across="AUC of a document (%)", up="documents")


def _drawn(x: Axis, y: Axis, dark: bool, **values: object) -> str:
    return drawing("chart.svg", x=x, y=y, inks=INKS[dark], width=WIDTH, height=HEIGHT, **values)
