"""Pictures with covered parts, to explain models that read pixels."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.regions import grid_boxes
from iconotext.images import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageFeatures, Picture
    from iconotext.types import FloatMatrix

SHORTER, LONGER = 448, 1024
"""Largest sides of the copy in pixels; image encoders do not use many more."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageParts:
    """An image with R regions that can be left out.

    Attributes:
        boxes: (R, 4) float: left, top, right, bottom, as shares of width and height from the top left.
        without: From (n, R) bool, the regions to leave out, to the features of the rest, n rows.
    """

    boxes: FloatMatrix
    without: Callable[[NDArray[np.bool_]], ImageFeatures]


def covered_cells(file: Picture, encode: Callable[[Sequence[Picture]], ImageFeatures]) -> ImageParts:
    """A picture whose cells can be covered with its mean colour.

    Args:
        file: The encoded picture, or its file.
        encode: From n encoded pictures to their features. It should not cache them, since they are not the document's
            pictures.

    Raises:
        ImageError: The picture cannot be decoded.
    """
    pixels = _small(file)
    mean = np.round(pixels.mean(axis=(0, 1))).astype(np.uint8)
    boxes = grid_boxes()
    height, width, _ = pixels.shape
    edges = np.round(boxes * [width, height, width, height]).astype(int)

    def without(covered: NDArray[np.bool_]) -> ImageFeatures:
        pictures = []
        for mask in covered:
            changed = pixels.copy()
            for left, top, right, bottom in edges[mask]:
                changed[top:bottom, left:right] = mean
            pictures.append(_encoded(changed))
        return encode(pictures)

    return ImageParts(boxes, without)


def _small(file: Picture) -> NDArray[np.uint8]:
    image = decode(file, at_least=SHORTER)
    shrink = min(1.0, SHORTER / min(image.size), LONGER / max(image.size))
    size = (max(1, round(image.width * shrink)), max(1, round(image.height * shrink)))
    return np.asarray(image.resize(size, reducing_gap=2.0) if shrink < 1 else image)


def _encoded(pixels: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "BMP")  # lossless and fast
    return file.getvalue()
