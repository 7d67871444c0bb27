"""Put counts together into few bins, for a chart that can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

BULK = 0.99
"""Share of the documents that equal bins cover where the rest would stretch them far; one open bin holds the rest."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Sizes that are counted together.

    Attributes:
        low: The smallest.
        high: The largest; None for the last bin where it holds all that are larger.
        count: Documents with such a size.
    """

    low: int
    high: int | None
    count: int

    @property
    def label(self) -> str:
        """``5``, ``5–9`` or ``100+``."""
        if self.high is None:
            return f"{self.low}+"
        return f"{self.low}" if self.high == self.low else f"{self.low}–{self.high}"


def bins(histogram: Mapping[int, int], at_most: int) -> list[Bin]:
    """Bins of equal width 1, 2, 5, 10, 20, 50, ... from the smallest size to the largest, empty ones among them.

    Where a hundredth of the documents would stretch the bins to twice the width or more, these share an open last bin.

    Args:
        histogram: By size (0 or more), how many documents have it.
        at_most: Number of bins, at least 2.

    Returns:
        In ascending order; [] for an empty histogram.
    """
    sizes = sorted(size for size, number in histogram.items() if number)
    if not sizes:
        return []
    low, high = sizes[0], sizes[-1]
    bulk = _bulk_end(histogram, sizes)
    width, short = _width(low, high, at_most), _width(low, bulk, at_most - 1)
    is_open = width >= 2 * short
    if is_open:
        width, high = short, bulk
    first, last = low // width, high // width
    found = [0] * (last - first + 1)
    rest = 0
    for size in sizes:
        place = size // width - first
        if place < len(found):
            found[place] += histogram[size]
        else:
            rest += histogram[size]
    result = [
        Bin(start * width, (start + 1) * width - 1, number) for start, number in zip(count(first), found, strict=False)
    ]
    return [*result, Bin((last + 1) * width, None, rest)] if rest else result


def _bulk_end(histogram: Mapping[int, int], sizes: list[int]) -> int:
    """The size that ``BULK`` of the documents do not pass."""
    wanted, passed = BULK * sum(histogram[size] for size in sizes), 0
    for size in sizes:
        passed += histogram[size]
        if passed >= wanted:
            return size
    return sizes[-1]


def _width(low: int, high: int, at_most: int) -> int:
    """The smallest width of which so many bins reach from the one to the other."""
    for power in count():
        for digit in (1, 2, 5):
            width: int = digit * 10**power
            if high // width - low // width < at_most:
                return width
    raise AssertionError("there is always a width that is wide enough")
