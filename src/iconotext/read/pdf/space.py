"""Places on a PDF page: in its own space (any origin, y upwards) and as it is shown, in points from the top left."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import pypdfium2.raw as raw

Handle = Any  # documents, pages and objects of pdfium have no types that mypy could check

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points, from the top left of the page as it is shown."""

Transform = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): a point (x, y) of the page's own space is shown at (ax + cy + e, bx + dy + f)."""


def page_transform(page: Handle) -> Transform:
    """From the page's own space (any origin, y upwards, before its rotation) to points from the top left as shown."""
    width, height = page.get_size()
    scale = 1000  # pdfium answers in whole pixels
    x, y = ctypes.c_int(), ctypes.c_int()
    points = []
    for at in ((0, 0), (100, 0), (0, 100)):
        raw.FPDF_PageToDevice(page, 0, 0, int(width * scale), int(height * scale), 0, *at, x, y)
        points.append((x.value / scale, y.value / scale))
    (e, f), (x1, y1), (x2, y2) = points
    return (x1 - e) / 100, (y1 - f) / 100, (x2 - e) / 100, (y2 - f) / 100, e, f


def transformed_point(transform: Transform, x: float, y: float) -> tuple[float, float]:
    """Where a point of the page's own space is shown."""
    a, b, c, d, e, f = transform
    return a * x + c * y + e, b * x + d * y + f


def transformed_box(transform: Transform, left: float, bottom: float, right: float, top: float) -> Box:
    """Where a box of the page's own space is shown."""
    corners = [transformed_point(transform, x, y) for x in (left, right) for y in (bottom, top)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def composed(first: Transform, then: Transform) -> Transform:
    """The transform that applies ``first`` and after it ``then``."""
    a, b, c, d, e, f = first
    return (
        then[0] * a + then[2] * b,
        then[1] * a + then[3] * b,
        then[0] * c + then[2] * d,
        then[1] * c + then[3] * d,
        *transformed_point(then, e, f),
    )


def bounding_box(boxes: Sequence[Box]) -> Box:
    """The smallest box around boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def distance(one: Box, other: Box) -> float:
    """How far apart two boxes are, across and down together; 0 where they touch."""
    across = max(one[0] - other[2], other[0] - one[2], 0.0)
    down = max(one[1] - other[3], other[1] - one[3], 0.0)
    return across + down


def overlap(one: Box, other: Box) -> float:
    """How much two boxes overlap from left to right; negative where there is a gap."""
    return min(one[2], other[2]) - max(one[0], other[0])
