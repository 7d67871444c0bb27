"""Pictures with parts covered: what a model that looks at pixels is asked to explain them by."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.regions import GRID, grid_boxes
from iconotext.images import decode
from iconotext.links.explanation import Coverable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import Picture
    from iconotext.types import FloatMatrix

WINDOW = 2
"""Cells on each side of what is covered at a time; it moves by one cell. Over the default model and the concept bridge,
the cells found so carry as much of the similarity as those found by covering single cells (a little less with the one,
a little more with the other), for 25 looks instead of 36; windows of three are too coarse for the default model. See
``benchmarks/explanation.py``."""

SHORTER, LONGER = 448, 1024
"""Pixels of the sides of the copy that is covered; image encoders look at no more than about so many."""


def coverable_image(
    file: Picture, look: Callable[[Sequence[Picture]], FloatMatrix], *, window: int = WINDOW
) -> Coverable:
    """A picture whose cells can be covered with its mean colour.

    Args:
        file: The encoded picture, or where it is.
        look: n encoded pictures to (n, D) vectors in the space of the sentences. What it sees are pictures that are
            not the document's: it should not keep them.
        window: Cells on each side of what is covered at a time, 1 to ``GRID``.

    Raises:
        ImageError: It cannot be decoded.
    """
    pixels = _small(file)
    mean = np.round(pixels.mean(axis=(0, 1))).astype(np.uint8)
    boxes = grid_boxes()
    height, width, _ = pixels.shape
    edges = np.round(boxes * [width, height, width, height]).astype(int)

    def vectors(covered: NDArray[np.bool_]) -> FloatMatrix:
        pictures = []
        for mask in covered:
            changed = pixels.copy()
            for left, top, right, bottom in edges[mask]:
                changed[top:bottom, left:right] = mean
            pictures.append(_encoded(changed))
        return look(pictures)

    return Coverable(boxes, grid_windows(GRID, window), vectors)


def grid_windows(side: int, window: int) -> NDArray[np.bool_]:
    """(windows, side²): all squares of ``window`` cells a side that fit into a grid of ``side`` cells a side."""
    top, left = np.divmod(np.arange(side * side), side)
    starts = [(y, x) for y in range(side - window + 1) for x in range(side - window + 1)]
    return np.array([(top >= y) & (top < y + window) & (left >= x) & (left < x + window) for y, x in starts])


def _small(file: Picture) -> NDArray[np.uint8]:
    image = decode(file, at_least=SHORTER)
    shrink = min(1.0, SHORTER / min(image.size), LONGER / max(image.size))
    size = (max(1, round(image.width * shrink)), max(1, round(image.height * shrink)))
    return np.asarray(image.resize(size, reducing_gap=2.0) if shrink < 1 else image)


def _encoded(pixels: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "BMP")  # nothing is lost, and nothing is quicker
    return file.getvalue()
