"""What a pretrained backbone is to the rest of the program: something that turns texts or pictures into arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from iconotext.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

REGIONS = 36
"""Regions per image: a 6 × 6 grid, row by row from the top left."""

Picture = Path | bytes
"""An encoded picture, or where it is."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageFeatures:
    """Frozen features of n pictures.

    Attributes:
        pooled: (n, dim) float32, one vector a picture; length as the backbone gives it, 1 in a joint space.
        probabilities: (n, C) float32, class probabilities; None where the backbone has no classifier.
        regions: (n, 36, dim) float16, one vector for each cell of a 6 × 6 grid; None where not asked for.
        region_classes: (n, 36) int16, the most probable class of each region; None without regions or classifier.
        region_scores: (n, 36) float16, its probability.
        problems: Per picture, why it could not be read, None for a good one. Rows of a bad one are zero.
    """

    pooled: FloatMatrix
    probabilities: FloatMatrix | None = None
    regions: NDArray[np.float16] | None = None
    region_classes: NDArray[np.int16] | None = None
    region_scores: NDArray[np.float16] | None = None
    problems: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        for name, array in self.arrays().items():
            if len(array) != len(self.problems):
                raise ShapeError(f"{name} has {len(array)} rows, problems has {len(self.problems)}")

    def __len__(self) -> int:
        return len(self.pooled)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that are there, by the names of the attributes."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return {name: array for name, array in arrays.items() if array is not None}


def blank_features(n: int, dim: int, *, classes: int = 0, regions: bool = False) -> ImageFeatures:
    """Features of n pictures, all zero, with no problem: to be filled.

    Args:
        n: Number of pictures.
        dim: Length of a vector.
        classes: Number of classes, 0 for no classifier.
        regions: Whether there are regions.
    """
    return ImageFeatures(
        pooled=np.zeros((n, dim), np.float32),
        probabilities=np.zeros((n, classes), np.float32) if classes else None,
        regions=np.zeros((n, REGIONS, dim), np.float16) if regions else None,
        region_classes=np.zeros((n, REGIONS), np.int16) if regions and classes else None,
        region_scores=np.zeros((n, REGIONS), np.float16) if regions and classes else None,
        problems=(None,) * n,
    )


ARRAYS = ("pooled", "probabilities", "regions", "region_classes", "region_scores")
"""The attributes of ``ImageFeatures`` that hold a row for each picture."""


class TextBackbone(Protocol):
    """A frozen text encoder."""

    @property
    def name(self) -> str:
        """Identifies weights and processing: equal names give equal features. Part of the key in the cache."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def space(self) -> str:
        """The vector space; see ``share_space``."""

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, dim) float32, rows of length 1, in the order of the texts."""


class ImageBackbone(Protocol):
    """A frozen image encoder."""

    @property
    def name(self) -> str:
        """Identifies weights and processing: equal names give equal features. Part of the key in the cache."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def space(self) -> str:
        """The vector space; see ``share_space``."""

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the classes in the order of the probabilities; None without a classifier."""

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Features in the order of the files; a picture that cannot be read has its problem there.

        Raises:
            FeatureError: Regions are asked of a backbone that has none.
        """


@dataclass(frozen=True, slots=True)
class DualEncoder:
    """A text and an image backbone that were trained together, as CLIP was: ``share_space`` holds for them."""

    text: TextBackbone
    image: ImageBackbone


def share_space(text: TextBackbone, image: ImageBackbone) -> bool:
    """Whether the cosine of a text vector with an image vector means something as it is, without training."""
    return text.space == image.space
