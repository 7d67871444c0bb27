"""One picture's regions out of a file: arrays under the names of any published layout, checked and brought to ours."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.regions import Regions

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
"""One number a picture; all others have a row for each region."""

KNOWN = OF_IMAGE | {*FEATURES, *SHARES, *BOXES, *OBJECTS, *CONFIDENCES, *PROBABILITIES}
"""Everything that is read; whatever else a file holds (attributes, relations) is passed over."""

LARGEST = 1 << 28
"""Bytes of one array of one picture; 1,000 regions of 2,048 numbers are 8 MB. What claims to be larger is damaged."""

BACKGROUND = "__background__"
"""Name that the original detector gives to nothing in particular, where a list of names has it."""

Stored = Mapping[str, "NDArray[Any] | None"]
"""Arrays of one picture by their names in the file; None for one that is a pickled Python object, never read."""


class RegionTable(Protocol):
    """A file, or a folder of files, of one layout."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def ids(self) -> Collection[str]:
        """The pictures that are in it."""

    def read(self, ids: Sequence[str]) -> Iterator[Stored]:
        """The arrays of some pictures in their order, one picture in memory at a time.

        Raises:
            FeatureError: The file is damaged, or has changed since it was opened.
        """

    def digest(self) -> bytes:
        """What other contents do not share."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionRow:
    """The r regions of one picture; see ``Regions`` for what the arrays mean."""

    features: NDArray[np.float16]
    boxes: NDArray[np.float32]
    concepts: NDArray[np.int32]
    scores: NDArray[np.float32]


def region_row(stored: Stored, names: Sequence[str] | None, where: str) -> RegionRow:
    """Check what a file says of one picture.

    Args:
        stored: Its arrays.
        names: Of the concepts, None where they are not known: then no region has one.
        where: File and picture, for messages.

    Raises:
        FeatureError: An array is missing, of another kind or size than the others, or holds numbers that cannot be.
    """
    boxes = _boxes(stored, where)
    total = len(boxes)
    features = _first(stored, FEATURES)
    if features is None:
        raise FeatureError(f"{where}: has no features, which would be called {' or '.join(FEATURES)}")
    if features.ndim == 2 and len(features) != total and features.shape[1] == total:
        features = features.T  # MCAN's files have a column for each region
    fits = features.ndim == 2 and len(features) == total and (features.shape[1] > 0 or not total)
    if features.dtype.kind != "f" or not fits:
        raise FeatureError(
            f"{where}: features are {_kind(features)}; floating-point numbers of shape ({total}, dim) are needed"
        )
    with np.errstate(over="ignore"):  # what float16 cannot hold becomes infinite
        halves = features.astype(np.float16)
    if not np.isfinite(halves).all():
        raise FeatureError(f"{where}: features are not all finite numbers up to 65,504; compute them again")
    concepts, scores = _concepts(stored, names, total, where)
    count = _number(stored, COUNT, where)
    if count is not None and count != total:
        if not (0 <= count < total and count == int(count)):
            raise FeatureError(f"{where}: says that it has {count:g} regions, but there are {total} boxes")
        total = int(count)  # the rest is padding
    return RegionRow(halves[:total], boxes[:total], concepts[:total], scores[:total])


def _boxes(stored: Stored, where: str) -> NDArray[np.float32]:
    shares = _first(stored, SHARES)
    boxes = shares if shares is not None else _first(stored, BOXES)
    if boxes is None:
        raise FeatureError(f"{where}: has no boxes, which would be called {' or '.join((*BOXES, *SHARES))}")
    wide = boxes.ndim == 2 and (boxes.shape[1] == 4 or (shares is not None and boxes.shape[1] >= 4))
    if boxes.dtype.kind not in "fiu" or not wide:
        raise FeatureError(f"{where}: boxes are {_kind(boxes)}; numbers of shape (regions, 4) are needed")
    edges = boxes[:, :4].astype(np.float64)
    if not np.isfinite(edges).all():
        raise FeatureError(f"{where}: boxes are not all finite numbers")
    if (edges[:, 2:] < edges[:, :2]).any():
        raise FeatureError(f"{where}: a box ends before it begins; boxes must be left, top, right, bottom")
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
    """Which concept, -1 where that is not known, and how sure the detector was, 0 where that is not."""
    objects, probabilities, scores = (_first(stored, known) for known in (OBJECTS, PROBABILITIES, CONFIDENCES))
    if names is not None and objects is None and probabilities is not None:
        if probabilities.ndim != 2 or probabilities.shape[1] not in (len(names), len(names) + 1):
            raise FeatureError(
                f"{where}: probabilities are {_kind(probabilities)}, which does not fit {len(names)} names of concepts"
            )
        probabilities = probabilities[:, probabilities.shape[1] - len(names) :]  # the first may be the background
        objects, scores = probabilities.argmax(1), probabilities.max(1, initial=0)
    if scores is None:
        scores = np.full(total, 0 if names is None or objects is None else 1, np.float32)
    if scores.dtype.kind != "f" or scores.shape != (total,) or not ((scores >= 0) & (scores < 1.001)).all():
        raise FeatureError(f"{where}: confidences are {_kind(scores)}; {total} numbers from 0 to 1 are needed")
    sure = scores.astype(np.float32).clip(0, 1)  # a softmax may round to a little more than 1
    if names is None or objects is None:
        return np.full(total, -1, np.int32), sure
    if objects.dtype.kind not in "iu" or objects.shape != (total,):
        raise FeatureError(f"{where}: objects are {_kind(objects)}; whole numbers of shape ({total},) are needed")
    if total and not (objects.min() >= 0 and objects.max() < len(names)):
        raise FeatureError(
            f"{where}: objects {objects.min()} to {objects.max()} do not fit {len(names)} names of concepts; "
            f"if the detector counts the background as 0, make {BACKGROUND} the first name"
        )
    concepts = objects.astype(np.int32)
    nothing = np.array([name == BACKGROUND for name in names])[concepts]
    return np.where(nothing, np.int32(-1), concepts), np.where(nothing, np.float32(0), sure)


def _number(stored: Stored, names: Sequence[str], where: str) -> float | None:
    array = _first(stored, names)
    if array is None:
        return None
    value = float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiu" else math.nan
    if not math.isfinite(value) or value < 0 or (value == 0 and names is not COUNT):
        what = array.item() if array.size == 1 else _kind(array)
        raise FeatureError(f"{where}: {names[0]} is {what}; one positive number is needed")
    return value


def _first(stored: Stored, names: Sequence[str]) -> NDArray[Any] | None:
    for name in names:
        array = stored.get(name)
        if array is not None:
            return array
    return None


def _kind(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


def joined_rows(rows: Sequence[RegionRow], problems: Sequence[str | None], dim: int) -> Regions:
    """The regions of several pictures, picture after picture; none of those that have a problem."""
    good = [row for row, problem in zip(rows, problems, strict=True) if problem is None] or [empty_row(dim)]
    counts = [0 if problem else len(row.boxes) for row, problem in zip(rows, problems, strict=True)]
    return Regions(
        np.array(counts, np.int64),
        np.concatenate([row.features for row in good]),
        np.concatenate([row.boxes for row in good]),
        np.concatenate([row.concepts for row in good]),
        np.concatenate([row.scores for row in good]),
        tuple(problems),
    )


def empty_row(dim: int) -> RegionRow:
    """Of a picture that has a problem."""
    return RegionRow(
        np.zeros((0, dim), np.float16), np.zeros((0, 4), np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32)
    )


def plain_array(data: bytes | memoryview, dtype: np.dtype[Any], shape: Sequence[int], where: str) -> NDArray[Any]:
    """An array from its bytes, if they are as many as type and shape say, and nothing but numbers.

    Raises:
        FeatureError: They are not.
    """
    numbers = dtype.kind in "fiub" and not dtype.hasobject
    if not numbers or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise FeatureError(f"{where}: {len(data)} bytes are not {dtype} of shape {tuple(shape)}: cut off or damaged")
    return np.frombuffer(data, dtype).reshape(shape) if len(data) else np.zeros(shape, dtype)
