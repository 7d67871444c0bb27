"""Regions of pictures, and the concepts seen in them: what Li 2021 reads instead of one vector a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from iconotext.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Image

REGION_ARRAYS = ("features", "boxes", "concepts", "scores")
"""The arrays of ``Regions`` and ``RegionRow`` with a row for each region."""


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Regions of n images, image after image; R of all together.

    Attributes:
        counts: (n,) int64, how many each image has; 0 where it has a problem.
        features: (R, dim) float16.
        boxes: (R, 4) float32: left, top, right, bottom, as shares of width and height from the top left corner.
        concepts: (R,) int32, which of the source's concepts is seen there; -1 where none is known.
        scores: (R,) float32, how sure the source is of the region, 0 to 1; 0 where that is not known.
        problems: (n,) why an image has no regions, None for a good one.
    """

    counts: NDArray[np.int64]
    features: NDArray[np.float16]
    boxes: NDArray[np.float32]
    concepts: NDArray[np.int32]
    scores: NDArray[np.float32]
    problems: tuple[str | None, ...]

    def __post_init__(self) -> None:
        total = int(self.counts.sum())
        for name in REGION_ARRAYS:
            if len(getattr(self, name)) != total:
                raise ShapeError(f"{name} has {len(getattr(self, name))} rows, the counts add up to {total}")
        if len(self.problems) != len(self.counts):
            raise ShapeError(f"{len(self.problems)} problems of {len(self.counts)} pictures")

    def __len__(self) -> int:
        return len(self.counts)

    def rows(self) -> list[RegionRow]:
        """The regions of each image."""
        ends = self.counts.cumsum().tolist()
        return [
            RegionRow(*(getattr(self, name)[end - count : end] for name in REGION_ARRAYS))
            for end, count in zip(ends, self.counts.tolist(), strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RegionRow:
    """The r regions of one image; see ``Regions`` for what the arrays mean."""

    features: NDArray[np.float16]
    boxes: NDArray[np.float32]
    concepts: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.boxes)


def empty_row(dim: int) -> RegionRow:
    """No regions: those of an image that has a problem."""
    return RegionRow(
        np.zeros((0, dim), np.float16), np.zeros((0, 4), np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32)
    )


def joined_rows(rows: Sequence[RegionRow], problems: Sequence[str | None], dim: int) -> Regions:
    """The regions of several images, image after image; none of those that have a problem."""
    rows = [empty_row(dim) if problem else row for row, problem in zip(rows, problems, strict=True)]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(row, name) for row in (empty_row(dim), *rows)]) for name in REGION_ARRAYS
    }
    return Regions(counts=np.array([len(row) for row in rows], np.int64), problems=tuple(problems), **arrays)


def strongest(regions: Regions, at_most: int | None) -> Regions:
    """The regions with the highest scores of each image, in the order in which they stand; of equal ones the first.

    Args:
        regions: Of some images.
        at_most: Regions of one that are kept; None for all.
    """
    if at_most is None or not len(regions) or regions.counts.max() <= at_most:
        return regions
    owner = np.repeat(np.arange(len(regions)), regions.counts)
    order = np.lexsort((-regions.scores, owner))  # stable: image after image, the best first
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(regions.counts) - regions.counts, regions.counts)
    kept = np.sort(order[rank < at_most])
    arrays: dict[str, Any] = {name: getattr(regions, name)[kept] for name in REGION_ARRAYS}
    return Regions(counts=np.minimum(regions.counts, at_most), problems=regions.problems, **arrays)


class RegionSource(Protocol):
    """Something that knows the regions of images: a grid, a detector, a file that one has written."""

    @property
    def name(self) -> str:
        """Identifies weights and processing: equal names give equal regions."""

    @property
    def dim(self) -> int:
        """Length of a region's feature vector."""

    @property
    def concepts(self) -> tuple[str, ...] | None:
        """What can be seen in a region, by number; None where the source names nothing."""

    def regions(self, images: Sequence[Image]) -> Regions:
        """The regions of some images; one that has none, or cannot be read, has a problem."""
