"""Regions of pictures and their concepts (``Regions``): the input of Li 2021 instead of one vector per picture.

``RegionSource`` is a source of regions; ``grid_regions`` makes one of an image backbone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError, ShapeError
from iconotext.features.backbone import REGIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone
    from iconotext.types import Image


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The R regions of one image.

    Attributes:
        features: (R, dim) float16.
        boxes: (R, 4) float32: left, top, right, bottom, as shares of width and height from the top left corner.
        concepts: (R,) int32, number of the source's concept that the region shows; -1 if unknown.
        scores: (R,) float32, confidence of the region, 0 to 1; 0 if unknown.
    """

    features: NDArray[np.float16]
    boxes: NDArray[np.float32]
    concepts: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __post_init__(self) -> None:
        for field in fields(self):
            if len(getattr(self, field.name)) != len(self.boxes):
                raise ShapeError(f"{field.name} has {len(getattr(self, field.name))} rows, there are {len(self)} boxes")

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, rows: slice | NDArray[Any]) -> Regions:
        return Regions(self.features[rows], self.boxes[rows], self.concepts[rows], self.scores[rows])


def strongest(regions: Regions, at_most: int | None) -> Regions:
    """Select the ``at_most`` regions with the highest scores, in their original order; ties go to the first."""
    if at_most is None or len(regions) <= at_most:
        return regions
    return regions[np.sort(np.argsort(-regions.scores, kind="stable")[:at_most])]


@dataclass(frozen=True, slots=True, eq=False)
class RegionSource:
    """A source of image regions: a grid, or a file of another program.

    Attributes:
        name: A name that identifies weights and processing: equal names give equal regions.
        dim: Length of a region's features.
        concepts: Names of the concepts, by number; None if regions have none.
        regions: Returns for each image its regions, one or more, or the reason why it has none.
    """

    name: str
    dim: int
    concepts: tuple[str, ...] | None
    regions: Callable[[Sequence[Image]], list[Regions | str]]


GRID = 6
"""Cells on each side of the grid."""


def grid_regions(backbone: ImageBackbone) -> RegionSource:
    """Make the 6 x 6 cells of an image backbone's last feature map regions, each named by the backbone's classifier."""

    def regions(images: Sequence[Image]) -> list[Regions | str]:
        features = backbone.encode([image.file or b"" for image in images], regions=True)
        if features.regions is None:
            raise FeatureError(f"{backbone.name}: gives no regions")
        shape, boxes = (len(images), REGIONS), grid_boxes()
        concepts, scores = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
        if features.region_classes is not None and features.region_scores is not None:
            concepts, scores = features.region_classes.astype(np.int32), features.region_scores.astype(np.float32)
        rows = zip(features.problems, features.regions, concepts, scores, strict=True)
        return [problem or Regions(cells, boxes, names, sure) for problem, cells, names, sure in rows]

    return RegionSource(f"{backbone.name}/grid", backbone.dim, backbone.classes, regions)


def grid_boxes() -> NDArray[np.float32]:
    """Return the (36, 4) boxes of the grid's cells, row by row from the top left."""
    top, left = np.divmod(np.arange(GRID * GRID), GRID)
    return np.asarray(np.stack([left, top, left + 1, top + 1], axis=1) / GRID, np.float32)


FEATURES = ("features", "x", "image_features")

SHARES = ("norm_bb", "spatial_features")
"""Names of boxes as shares of width and height; further columns have width and height of the box (and its area)."""

BOXES = ("boxes", "bbox", "image_bb")

OBJECTS = ("objects_id", "objects", "object_ids")

CONFIDENCES = ("objects_conf", "conf", "scores")

PROBABILITIES = ("cls_prob", "soft_labels")

COUNT = ("num_boxes", "num_bbox")

WIDTH = ("image_w", "img_w", "image_width", "img_width", "width")

HEIGHT = ("image_h", "img_h", "image_height", "img_height", "height")

OF_IMAGE = frozenset((*COUNT, *WIDTH, *HEIGHT))
"""Names of arrays with one number per image; all other arrays have a row per region."""

KNOWN = OF_IMAGE | {*FEATURES, *SHARES, *BOXES, *OBJECTS, *CONFIDENCES, *PROBABILITIES}
"""All names of arrays that are read; others (attributes, relations) are ignored."""

LARGEST = 1 << 28
"""Maximum size of one image's array in bytes, beyond which a file counts as damaged; 1,000 regions of 2,048 numbers
have 8 MB."""

Stored = Mapping[str, "NDArray[Any] | None"]
"""The arrays of one image by name; None for a pickled Python object, which is never read."""


def first_array(stored: Stored, names: Sequence[str]) -> NDArray[Any] | None:
    """Return the image's array under the first of ``names`` that it has; None if it has none of them."""
    return next((array for name in names if (array := stored.get(name)) is not None), None)


@dataclass(frozen=True, slots=True, eq=False)
class RegionTable:
    """A file or folder in one layout; opened again for each reading.

    Attributes:
        read: Yields the arrays of images, in order, one image in memory at a time. Raises ``FeatureError`` if the file
            is damaged, or has changed since it was opened.
        digest: Computes a digest that changes with the contents.
    """

    path: Path
    ids: Collection[str]
    read: Callable[[Sequence[str]], Iterator[Stored]]
    digest: Callable[[], bytes]


def plain_array(data: bytes | memoryview, dtype: np.dtype[Any], shape: Sequence[int], where: str) -> NDArray[Any]:
    """Make an array from its bytes, checked against dtype and shape; only numbers are allowed."""
    numbers = dtype.kind in "fiub" and not dtype.hasobject
    if not numbers or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise FeatureError(f"{where}: {len(data)} bytes are not {dtype} of shape {tuple(shape)}: cut off or damaged")
    return np.frombuffer(data, dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)


BACKGROUND = "__background__"
"""Name of the background class in lists of the original detector's classes."""


def region_row(stored: Stored, names: Sequence[str] | None, where: str) -> Regions:
    """Check and convert the arrays of one image.

    If the ``names`` of the concepts are unknown (None), no region has a concept.
    """
    boxes = _boxes(stored, where)
    features = _features(stored, len(boxes), where)
    concepts, scores = _concepts(stored, names, len(boxes), where)
    count = _number(stored, COUNT, where)
    total = len(boxes) if count is None else int(count)
    if count is not None and not (0 <= count <= len(boxes) and count == total):
        raise FeatureError(f"{where}: says that it has {count:g} regions, but there are {len(boxes)} boxes")
    return Regions(features, boxes, concepts, scores)[:total]  # the rest is padding


def _features(stored: Stored, total: int, where: str) -> NDArray[np.float16]:
    features = first_array(stored, FEATURES)
    if features is None:
        raise FeatureError(f"{where}: has no features, which would be called {' or '.join(FEATURES)}")
    if features.ndim == 2 and len(features) != total and features.shape[1] == total:
        features = features.T  # MCAN's files have a column per region
    fits = features.ndim == 2 and len(features) == total and (features.shape[1] > 0 or not total)
    if features.dtype.kind != "f" or not fits:
        expected = f"floating-point numbers of shape ({total}, dim) are needed"
        raise FeatureError(f"{where}: features are {_kind(features)}; {expected}")
    with np.errstate(over="ignore"):  # numbers beyond float16 become infinite
        halves = features.astype(np.float16)
    if not np.isfinite(halves).all():
        raise FeatureError(f"{where}: features are not all finite numbers up to 65,504; compute them again")
    return halves


def _boxes(stored: Stored, where: str) -> NDArray[np.float32]:
    shares = first_array(stored, SHARES)
    boxes = shares if shares is not None else first_array(stored, BOXES)
    if boxes is None:
        names = " or ".join((*BOXES, *SHARES))
        raise FeatureError(f"{where}: has no boxes, which would be called {names}")
    wide = boxes.ndim == 2 and (boxes.shape[1] == 4 or (shares is not None and boxes.shape[1] >= 4))
    if boxes.dtype.kind not in "fiu" or not wide:
        raise FeatureError(f"{where}: boxes are {_kind(boxes)}; numbers of shape (regions, 4) are needed")
    edges = boxes[:, :4].astype(np.float64)
    if not np.isfinite(edges).all():
        raise FeatureError(f"{where}: boxes are not all finite numbers")
    if (edges[:, 2:] < edges[:, :2]).any():
        raise FeatureError(f"{where}: a box ends before it begins; boxes must be left, top, right, bottom")
    # The names of boxes in pixels are used for shares, too. No share exceeds 1; in pixels, boxes nearly always do.
    if shares is None and edges.size and edges.max() > 1:
        sides = [_number(stored, WIDTH, where), _number(stored, HEIGHT, where)]
        if sides[0] is None or sides[1] is None:
            raise FeatureError(
                f"{where}: boxes are in pixels, and the picture's width and height are not there; "
                f"store them as {WIDTH[0]} and {HEIGHT[0]}, or the boxes as shares of them"
            )
        edges /= np.array(sides * 2, np.float64)
    return edges.clip(0, 1).astype(np.float32)


def _concepts(
    stored: Stored, names: Sequence[str] | None, total: int, where: str
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the concept of each region, -1 if unknown, and the detector's confidence, 0 if unknown."""
    objects, probabilities, scores = (
        first_array(stored, alternatives) for alternatives in (OBJECTS, PROBABILITIES, CONFIDENCES)
    )
    if names is not None and objects is None and probabilities is not None:
        if probabilities.ndim != 2 or probabilities.shape[1] not in (len(names), len(names) + 1):
            raise FeatureError(
                f"{where}: probabilities are {_kind(probabilities)}, which does not fit {len(names)} names of concepts"
            )
        probabilities = probabilities[:, probabilities.shape[1] - len(names) :]  # the first class may be the background
        objects, scores = probabilities.argmax(1), probabilities.max(1, initial=0)
    if scores is None:
        scores = np.full(total, 0 if names is None or objects is None else 1, np.float32)
    if scores.dtype.kind != "f" or scores.shape != (total,) or not ((scores >= 0) & (scores < 1.001)).all():
        raise FeatureError(f"{where}: confidences are {_kind(scores)}; {total} numbers from 0 to 1 are needed")
    sure = scores.astype(np.float32).clip(0, 1)  # a softmax may round to slightly more than 1
    if names is None or objects is None:
        return np.full(total, -1, np.int32), sure
    if objects.dtype.kind not in "iu" or objects.shape != (total,):
        raise FeatureError(f"{where}: objects are {_kind(objects)}; whole numbers of shape ({total},) are needed")
    if total and not (objects.min() >= 0 and objects.max() < len(names)):
        raise FeatureError(
            f"{where}: objects {objects.min()} to {objects.max()} do not fit {len(names)} names of concepts; "
            f"if the detector counts the background as 0, make {BACKGROUND} the first name"
        )
    nothing = np.array([name == BACKGROUND for name in names])[objects]
    return np.where(nothing, -1, objects).astype(np.int32), np.where(nothing, 0, sure).astype(np.float32)


def _number(stored: Stored, names: Sequence[str], where: str) -> float | None:
    array = first_array(stored, names)
    if array is None:
        return None
    value = float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiu" else math.nan
    if not math.isfinite(value) or value < 0 or (value == 0 and names is not COUNT):
        content = array.item() if array.size == 1 else _kind(array)
        raise FeatureError(f"{where}: {names[0]} is {content}; one positive number is needed")
    return value


def _kind(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"
