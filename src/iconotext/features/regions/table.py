"""A file of regions in any layout, and the names that programs give to the arrays in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEATURES = ("features", "x", "image_features")
SHARES = ("norm_bb", "spatial_features")
"""Boxes as shares of width and height; further columns have width and height of the box (and its area)."""
BOXES = ("boxes", "bbox", "image_bb")
OBJECTS = ("objects_id", "objects", "object_ids")
CONFIDENCES = ("objects_conf", "conf", "scores")
PROBABILITIES = ("cls_prob", "soft_labels")
COUNT = ("num_boxes", "num_bbox")
WIDTH = ("image_w", "img_w", "image_width", "img_width", "width")
HEIGHT = ("image_h", "img_h", "image_height", "img_height", "height")

OF_IMAGE = frozenset((*COUNT, *WIDTH, *HEIGHT))
"""One number per image; all others have a row per region."""

KNOWN = OF_IMAGE | {*FEATURES, *SHARES, *BOXES, *OBJECTS, *CONFIDENCES, *PROBABILITIES}
"""All names that are read; others (attributes, relations) are ignored."""

LARGEST = 1 << 28
"""Maximum size of one image's array in bytes; 1,000 regions of 2,048 numbers are 8 MB. Larger ones are damaged."""

Stored = Mapping[str, "NDArray[Any] | None"]
"""Name to array, of one image; None for a pickled Python object, which is never read."""


def first_array(stored: Stored, names: Sequence[str]) -> NDArray[Any] | None:
    """The image's array under the first of ``names`` that it has; None if it has none of them."""
    return next((array for name in names if (array := stored.get(name)) is not None), None)


@dataclass(frozen=True, slots=True, eq=False)
class RegionTable:
    """A file or folder in one layout; opened again for each reading.

    Attributes:
        read: The arrays of some images, in order, one image in memory at a time. Raises ``FeatureError`` if the file is
            damaged, or has changed since it was opened.
        digest: Changes with the contents.
    """

    path: Path
    ids: Collection[str]
    read: Callable[[Sequence[str]], Iterator[Stored]]
    digest: Callable[[], bytes]


def plain_array(data: bytes | memoryview, dtype: np.dtype[Any], shape: Sequence[int], where: str) -> NDArray[Any]:
    """An array from its bytes, checked against dtype and shape; only numbers are allowed.

    Raises:
        FeatureError: They do not fit.
    """
    numbers = dtype.kind in "fiub" and not dtype.hasobject
    if not numbers or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise FeatureError(f"{where}: {len(data)} bytes are not {dtype} of shape {tuple(shape)}: cut off or damaged")
    return np.frombuffer(data, dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)
