"""Regions of pictures and their concepts (``Regions``): the input of Li 2021 instead of one vector per picture.

``RegionSource`` is a source of regions; ``grid_regions`` makes one of an image backbone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
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
    """A source of image regions: a grid, a detector, or a file of another program.

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
        found = backbone.encode([image.file or b"" for image in images], regions=True)
        if found.regions is None:
            raise FeatureError(f"{backbone.name}: gives no regions")
        shape, boxes = (len(images), REGIONS), grid_boxes()
        concepts, scores = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
        if found.region_classes is not None and found.region_scores is not None:
            concepts, scores = found.region_classes.astype(np.int32), found.region_scores.astype(np.float32)
        rows = zip(found.problems, found.regions, concepts, scores, strict=True)
        return [problem or Regions(cells, boxes, names, sure) for problem, cells, names, sure in rows]

    return RegionSource(f"{backbone.name}/grid", backbone.dim, backbone.classes, regions)


def grid_boxes() -> NDArray[np.float32]:
    """Return the (36, 4) boxes of the grid's cells, row by row from the top left."""
    top, left = np.divmod(np.arange(GRID * GRID), GRID)
    return np.asarray(np.stack([left, top, left + 1, top + 1], axis=1) / GRID, np.float32)
