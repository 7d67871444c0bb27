"""Decodes HEIC photographs, as from telephones.

libheif reads untrusted bytes with native code: call these functions through ``run_isolated``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image as Pillow

from iconotext.images.raster import rows_to_rgb, shrink_by, within_memory

PER_PIXEL = 5
"""Bytes of memory per pixel for decoding, measured."""


def heif_size(file: Path | bytes) -> tuple[int, int]:
    """Width and height; nearly any ``Exception`` on damaged files."""
    width, height = _open_heif(file).size
    return int(width), int(height)


def decode_heif(file: Path | bytes, at_least: int | None) -> Pillow.Image:
    """RGB, upright, on white, at most ``MAX_RESULT`` pixels.

    Args:
        file: Its size has been checked.
        at_least: As for ``decode``.

    Raises:
        ImageError: It takes more memory than is allowed.
        Exception: Nearly any, on damaged files.
    """
    import numpy as np

    image = _open_heif(file)
    size = image.size
    by = shrink_by(size, size, at_least)
    with within_memory(size[0] * size[1] * PER_PIXEL + size[0] * size[1] * 4 // by**2, size):
        pixels = np.asarray(image)  # saves the copy that Pillow would make
        shape = (pixels.shape[1], pixels.shape[0])
        return rows_to_rgb(lambda top, end: Pillow.fromarray(pixels[top:end]), shape, by)


def _open_heif(file: Path | bytes) -> Any:
    import pi_heif

    return pi_heif.open_heif(file)
