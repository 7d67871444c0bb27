"""Regions without a detector: the cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.backbone import REGIONS
from iconotext.features.regions.regions import Regions, RegionSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone
    from iconotext.types import Image

GRID = 6
"""Cells on each side of the grid."""


def grid_regions(backbone: ImageBackbone) -> RegionSource:
    """The 6 x 6 cells of an image backbone's last feature map, each named by the backbone's classifier."""

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
    """(36, 4) the cells of the grid, row by row from the top left."""
    top, left = np.divmod(np.arange(GRID * GRID), GRID)
    return np.asarray(np.stack([left, top, left + 1, top + 1], axis=1) / GRID, np.float32)
