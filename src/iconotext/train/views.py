"""Other views of a picture, so that training does not learn a small corpus by heart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL.Image import Resampling, Transpose

from iconotext.images import decode

if TYPE_CHECKING:
    from iconotext.features.backbone import Picture

SMALLEST = 0.75
"""Smallest side of a view, as a share of the picture's."""

SIDE = 256
"""Pixels along both sides of a view; the proportions are lost, as they are in the embedded image backbone."""


def view(file: Picture, number: int) -> bytes:
    """A random part of a picture, every second one mirrored; the same for the same picture and number.

    Args:
        file: A picture that can be decoded.
        number: Which view, from 0.

    Returns:
        A picture file.

    Raises:
        ImageError: It cannot be decoded.
    """
    image = decode(file, at_least=SIDE)
    width, height = image.size
    rng = np.random.default_rng([number, width, height, *image.resize((4, 4)).tobytes()[:16]])
    across, down = (max(1, round(side * rng.uniform(SMALLEST, 1))) for side in (width, height))
    left, top = int(rng.integers(width - across + 1)), int(rng.integers(height - down + 1))
    part = image.resize((SIDE, SIDE), Resampling.BICUBIC, (left, top, left + across, top + down))
    if number % 2 == 0:
        part = part.transpose(Transpose.FLIP_LEFT_RIGHT)
    encoded = io.BytesIO()
    part.save(encoded, "BMP")  # quick to write and to read, and loses nothing
    return encoded.getvalue()
