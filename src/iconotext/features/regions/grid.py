"""Regions without a detector: the cells of a grid over the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.backbone import REGIONS
from iconotext.features.regions.regions import Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import ImageBackbone
    from iconotext.types import Image

GRID = 6
"""Cells on each side of the grid that stands for detected objects."""


@dataclass(frozen=True, slots=True)
class GridRegions:
    """The 6 × 6 cells of an image backbone's last feature map, each named by the classifier applied to it."""

    backbone: ImageBackbone

    @property
    def name(self) -> str:
        """See ``RegionSource``."""
        return f"{self.backbone.name}/grid"

    @property
    def dim(self) -> int:
        """See ``RegionSource``."""
        return self.backbone.dim

    @property
    def concepts(self) -> tuple[str, ...] | None:
        """The backbone's classes."""
        return self.backbone.classes

    def regions(self, images: Sequence[Image]) -> Regions:
        """The 36 cells of each image.

        Raises:
            FeatureError: The backbone has no feature map.
        """
        found = self.backbone.encode([image.file or b"" for image in images], regions=True)
        if found.regions is None:
            raise FeatureError(f"{self.backbone.name}: gives no regions")
        good = np.array([problem is None for problem in found.problems], bool)
        n = int(good.sum())
        concepts, scores = np.full(n * REGIONS, -1, np.int32), np.zeros(n * REGIONS, np.float32)
        if found.region_classes is not None and found.region_scores is not None:
            concepts = found.region_classes[good].ravel().astype(np.int32)
            scores = found.region_scores[good].ravel().astype(np.float32)
        return Regions(
            np.where(good, REGIONS, 0),
            found.regions[good].reshape(n * REGIONS, self.dim),
            np.tile(grid_boxes(), (n, 1)),
            concepts,
            scores,
            found.problems,
        )


def grid_boxes() -> NDArray[np.float32]:
    """(36, 4) the cells of the grid, row by row from the top left."""
    top, left = np.divmod(np.arange(GRID * GRID), GRID)
    return np.asarray(np.stack([left, top, left + 1, top + 1], axis=1) / GRID, np.float32)
