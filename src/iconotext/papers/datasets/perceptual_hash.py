"""A number of 64 bits that is nearly the same for pictures that look the same: the DCT hash of pHash.

Hessel 2019 looks for duplicates with findimagedupes, in the version in Go, whose fingerprint this hash is; ``-t 3``
there is a Hamming distance of 3 among 64 bits. (The older findimagedupes in Perl has a fingerprint of its own.) Written
after the description of pHash (https://phash.org/docs/design.html) and of that program's parameters.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow

SIDE = 32
"""Points on each side at which a picture is looked at."""

REACH = 3
"""Pixels on each side of a point that are averaged with it: a square of 7 by 7."""

LUMA = np.array((66, 129, 25), np.int32)
"""Of red, green and blue, in 256ths: the luminance of ITU-R BT.601 in the range of television."""

DIGITS = 6
"""Of a coefficient; what is smaller is the rounding of a flat picture and no pattern."""


def perceptual_hash(image: Pillow.Image) -> int:
    """The hash of a picture, 0 to 2**64 - 1.

    The luminance, averaged over squares of 7 by 7 pixels, is taken at 32 by 32 points, evenly spread from the upper
    left corner, and transformed by a two-dimensional DCT. Of the 8 by 8 lowest frequencies that are constant in neither
    direction, a bit says whether the coefficient is above their median.

    Args:
        image: Mode RGB, of any size; upright, as ``read.images.decode`` gives it.
    """
    pixels = np.asarray(image)
    height, width = pixels.shape[:2]
    rows, columns = _places(height), _places(width)
    red, green, blue = np.moveaxis(pixels.take(rows, axis=0).take(columns, axis=1).astype(np.int32), 2, 0)
    luminance = (LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue + 128) >> 8
    side = 2 * REACH + 1
    points = luminance.reshape(SIDE, side, SIDE * side).sum(axis=1).reshape(SIDE, SIDE, side).sum(axis=2)
    transform = _dct()
    low = (transform[1:9] @ points @ transform[1:9].T / side**2).round(DIGITS)
    bits = (low > np.median(low)).ravel()
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _places(length: int) -> NDArray[np.int64]:
    """(32 · 7,) places of a row or column: each point with its neighbours; beyond the edge, the edge."""
    points = np.arange(SIDE) * length // SIDE
    places: NDArray[np.int64] = np.clip(points[:, None] + np.arange(-REACH, REACH + 1), 0, length - 1).ravel()
    return places


@cache
def _dct() -> NDArray[np.float64]:
    """(32, 32) the orthonormal DCT-II; a row for each frequency."""
    frequency, place = np.arange(SIDE)[:, None], np.arange(SIDE)[None, :]
    matrix: NDArray[np.float64] = np.sqrt(2 / SIDE) * np.cos(np.pi / (2 * SIDE) * frequency * (2 * place + 1))
    matrix[0] = 1 / np.sqrt(SIDE)
    return matrix
