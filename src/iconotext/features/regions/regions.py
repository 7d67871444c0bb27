"""Regions of pictures and their concepts: the input of Li 2021 instead of one vector per picture."""

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
    """The ``at_most`` regions of an image with the highest scores, in their original order; ties go to the first."""
    if at_most is None or len(regions) <= at_most:
        return regions
    return regions[np.sort(np.argsort(-regions.scores, kind="stable")[:at_most])]


@dataclass(frozen=True, slots=True, eq=False)
class RegionSource:
    """A source of image regions: a grid, a detector, or a file of another program.

    Attributes:
        name: Identifies weights and processing: equal names give equal regions.
        concepts: Names of the concepts, by number; None if regions have none.
        regions: From images to the regions of each, one or more, or why it has none.
    """

    name: str
    dim: int
    concepts: tuple[str, ...] | None
    regions: Callable[[Sequence[Image]], list[Regions | str]]
