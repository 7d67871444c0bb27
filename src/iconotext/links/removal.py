"""Pictures with regions left out: what a model that reads regions is asked to explain them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.regions import GRID, grid_boxes
from iconotext.links.explanation import Coverable
from iconotext.links.occlusion import WINDOW, grid_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.regions import Regions
    from iconotext.types import FloatMatrix


def coverable_regions(regions: Regions, vectors: Callable[[NDArray[np.bool_]], FloatMatrix]) -> Coverable:
    """A picture whose regions, and the concepts seen there, can be left out.

    Objects are left out each in turn. Cells of a grid are squares of ``WINDOW`` cells a side, as where pixels are
    covered: one cell of 36 is hardly missed, since its neighbours have seen most of what it shows.

    Args:
        regions: Of one picture, R.
        vectors: (n, R) bool, what is left out each time, to (n, D) vectors in the space of the sentences.
    """
    count = len(regions.boxes)
    grid = grid_boxes()
    if regions.boxes.shape == grid.shape and np.allclose(regions.boxes, grid):
        return Coverable(regions.boxes, grid_windows(GRID, WINDOW), vectors)
    # Nothing at all is no picture: the only region is never left out.
    return Coverable(regions.boxes, np.eye(count, dtype=bool) if count > 1 else np.zeros((0, count), bool), vectors)
