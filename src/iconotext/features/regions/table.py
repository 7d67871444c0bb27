"""A file of regions, whatever its layout, and the names under which programs keep their arrays."""

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
"""Boxes as shares of width and height, with width and height of the box (and its area) in further columns."""
BOXES = ("boxes", "bbox", "image_bb")
OBJECTS = ("objects_id", "objects", "object_ids")
CONFIDENCES = ("objects_conf", "conf", "scores")
PROBABILITIES = ("cls_prob", "soft_labels")
COUNT = ("num_boxes", "num_bbox")
WIDTH = ("image_w", "img_w", "image_width", "img_width", "width")
HEIGHT = ("image_h", "img_h", "image_height", "img_height", "height")

OF_IMAGE = frozenset((*COUNT, *WIDTH, *HEIGHT))
"""One number an image; all others have a row for each region."""

KNOWN = OF_IMAGE | {*FEATURES, *SHARES, *BOXES, *OBJECTS, *CONFIDENCES, *PROBABILITIES}
"""Everything that is read; whatever else a file holds (attributes, relations) is passed over."""

LARGEST = 1 << 28
"""Bytes of one array of one image; 1,000 regions of 2,048 numbers are 8 MB. What claims to be larger is damaged."""

Stored = Mapping[str, "NDArray[Any] | None"]
"""Arrays of one image by their names in the file; None for one that is a pickled Python object, never read."""


def first_array(stored: Stored, names: Sequence[str]) -> NDArray[Any] | None:
    """The array that an image has under the first of some names, None where it has it under none."""
    return next((array for name in names if (array := stored.get(name)) is not None), None)


@dataclass(frozen=True, slots=True, eq=False)
class RegionTable:
    """A file, or a folder of files, of one layout; opened anew for each reading.

    Attributes:
        read: The arrays of some images in their order, one image in memory at a time. Raises FeatureError where the
            file is damaged, or has changed since it was opened.
        digest: What other contents do not share.
    """

    path: Path
    ids: Collection[str]
    read: Callable[[Sequence[str]], Iterator[Stored]]
    digest: Callable[[], bytes]


def plain_array(data: bytes | memoryview, dtype: np.dtype[Any], shape: Sequence[int], where: str) -> NDArray[Any]:
    """An array from its bytes, if they are as many as type and shape say, and nothing but numbers.

    Raises:
        FeatureError: They are not.
    """
    numbers = dtype.kind in "fiub" and not dtype.hasobject
    if not numbers or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise FeatureError(f"{where}: {len(data)} bytes are not {dtype} of shape {tuple(shape)}: cut off or damaged")
    return np.frombuffer(data, dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)
