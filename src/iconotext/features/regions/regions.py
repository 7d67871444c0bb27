"""Regions of pictures, and the concepts seen in them: what Li 2021 reads instead of one vector a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Image


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The R regions of one image.

    Attributes:
        features: (R, dim) float16.
        boxes: (R, 4) float32: left, top, right, bottom, as shares of width and height from the top left corner.
        concepts: (R,) int32, which of the source's concepts is seen there; -1 where none is known.
        scores: (R,) float32, how sure the source is of the region, 0 to 1; 0 where that is not known.
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
    """The regions of an image with the highest scores, in the order in which they stand; of equal ones the first."""
    if at_most is None or len(regions) <= at_most:
        return regions
    return regions[np.sort(np.argsort(-regions.scores, kind="stable")[:at_most])]


@dataclass(frozen=True, slots=True, eq=False)
class RegionSource:
    """Something that knows the regions of images: a grid, a detector, a file that another program has written.

    Attributes:
        name: Identifies weights and processing: equal names give equal regions.
        concepts: What can be seen in a region, by number; None where the source names nothing.
        regions: From some images to the regions of each, one or more, or why it has none.
    """

    name: str
    dim: int
    concepts: tuple[str, ...] | None
    regions: Callable[[Sequence[Image]], list[Regions | str]]
