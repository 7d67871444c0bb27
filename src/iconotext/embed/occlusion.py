"""Pictures with parts covered: what a model that looks at pixels is asked to explain them by."""

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
"""Pixels of the sides of the copy that is covered; image encoders look at no more than about so many."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageParts:
    """An image of which parts can be taken away, R regions.

    Attributes:
        boxes: (R, 4) float: left, top, right, bottom, as shares of width and height from the top left.
        without: (n, R) bool, what is taken away each time, to the features of what is left, n rows.
    """

    boxes: FloatMatrix
    without: Callable[[NDArray[np.bool_]], ImageFeatures]


def covered_cells(file: Picture, encode: Callable[[Sequence[Picture]], ImageFeatures]) -> ImageParts:
    """A picture whose cells can be covered with its mean colour.

    Args:
        file: The encoded picture, or where it is.
        encode: n encoded pictures to their features. What it sees are pictures that are not the document's: it should
            not keep them.

    Raises:
        ImageError: It cannot be decoded.
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
    Image.fromarray(pixels).save(file, "BMP")  # nothing is lost, and nothing is quicker
    return file.getvalue()
