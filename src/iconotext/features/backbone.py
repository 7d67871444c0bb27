"""What a pretrained backbone is to the rest of the program: something that turns texts or pictures into arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
    """Features of n pictures, all zero, with no problem: to be filled."""
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

Row = Mapping[str, "NDArray[Any]"]
"""What there is of one text or picture: its arrays by their names, of a picture those of ``ImageFeatures``."""


def filled(blank: ImageFeatures, rows: Iterable[Row | str]) -> ImageFeatures:
    """Fill features, in place, with a row for each picture, or why it could not be read."""
    arrays: dict[str, NDArray[Any]] = blank.arrays()
    problems: list[str | None] = list(blank.problems)
    for number, row in enumerate(rows):
        if isinstance(row, str):
            problems[number] = row
            continue
        for name, array in arrays.items():
            array[number] = row[name]
    return replace(blank, problems=tuple(problems))


@dataclass(frozen=True, slots=True, eq=False)
class TextBackbone:
    """A frozen text encoder.

    Attributes:
        name: Identifies weights and processing: equal names give equal features. Part of the key in the cache.
        encode: From n texts to (n, dim) float32, in their order; rows of length 1, unless the backbone says otherwise.
        language: The one language that it was trained on; None where that is not known, or there are several.
        with_layers: The same vectors, and what the layers below make of the texts, in one pass of the network; None
            where these are of no use.
    """

    name: str
    dim: int
    encode: Callable[[Sequence[str]], FloatMatrix]
    language: str | None = None
    with_layers: Callable[[Sequence[str]], tuple[FloatMatrix, NDArray[Any]]] | None = None


class ImageEncode(Protocol):
    """How an image backbone looks at pictures."""

    def __call__(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Features in the order of the files; a picture that cannot be read has its problem there.

        Raises:
            FeatureError: Regions are asked of a backbone that has none.
        """


@dataclass(frozen=True, slots=True, eq=False)
class ImageBackbone:
    """A frozen image encoder.

    Attributes:
        name: Identifies weights and processing: equal names give equal features. Part of the key in the cache.
        classes: Names of the classes in the order of the probabilities; None without a classifier.
    """

    name: str
    dim: int
    encode: ImageEncode
    classes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DualEncoder:
    """A text and an image backbone that were trained together, as CLIP was: ``share_space`` holds for them."""

    text: TextBackbone
    image: ImageBackbone


def share_space(text: TextBackbone, image: ImageBackbone) -> bool:
    """Whether the cosine of a text vector with an image vector means something as it is, without training."""
    return text.name == image.name
