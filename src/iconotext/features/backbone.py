"""The types of pretrained backbones, which turn texts or pictures into arrays.

``TextBackbone`` and ``ImageBackbone`` are the backbones, ``ImageFeatures`` are the arrays of pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from iconotext.errors import FeatureError, SettingError, ShapeError

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix


REGIONS = 36
"""Regions per image: a 6 x 6 grid, row by row from the top left."""

Picture = Path | bytes
"""An encoded picture, or the file with it."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageFeatures:
    """Frozen features of n pictures.

    Attributes:
        pooled: (n, dim) float32, one vector per picture, of any length; of length 1 in a joint space.
        probabilities: (n, C) float32, class probabilities; None without a classifier.
        regions: (n, 36, dim) float16, one vector for each cell of a 6 x 6 grid; None if regions were not requested.
        region_classes: (n, 36) int16, the most probable class of each region; None without regions or classifier.
        region_scores: (n, 36) float16, the probability of this class; None without regions or classifier.
        problems: For each picture, the reason why it could not be read, or None. The rows of such a picture are zero.
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
        """The arrays that are not None, by attribute name."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return {name: array for name, array in arrays.items() if array is not None}


def blank_features(n: int, dim: int, *, classes: int = 0, regions: bool = False) -> ImageFeatures:
    """Make features of n pictures in which all numbers are zero."""
    return ImageFeatures(
        pooled=np.zeros((n, dim), np.float32),
        probabilities=np.zeros((n, classes), np.float32) if classes else None,
        regions=np.zeros((n, REGIONS, dim), np.float16) if regions else None,
        region_classes=np.zeros((n, REGIONS), np.int16) if regions and classes else None,
        region_scores=np.zeros((n, REGIONS), np.float16) if regions and classes else None,
        problems=(None,) * n,
    )


ARRAYS = ("pooled", "probabilities", "regions", "region_classes", "region_scores")
"""The attributes of ``ImageFeatures`` with a row for each picture."""

Row = Mapping[str, "NDArray[Any]"]
"""The arrays of one text or picture, by name; for a picture the names of ``ImageFeatures``."""


def filled(blank: ImageFeatures, rows: Iterable[Row | str]) -> ImageFeatures:
    """Fill features in place, with a row for each picture, or with the reason why the picture could not be read."""
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
        name: A name that identifies weights and processing: equal names give equal features. It is part of the cache
            key.
        dim: Length of a vector.
        encode: Turns n texts into (n, dim) float32, in order; unit vectors unless a backbone documents otherwise.
        languages: ISO 639-1 codes of the languages on which it was trained; None if they are unknown, or very many.
        with_layers: Returns the same vectors, and the layers' outputs for the texts, in one pass; None if not
            available.
        other: Encodes texts in other languages as vectors of the same space; None if there is none. ``encode`` does not
            use it: ``languages.encode_texts`` chooses for each text.
    """

    name: str
    dim: int
    encode: Callable[[Sequence[str]], FloatMatrix]
    languages: frozenset[str] | None = None
    with_layers: Callable[[Sequence[str]], tuple[FloatMatrix, NDArray[Any]]] | None = None
    other: TextBackbone | None = None

    def knows(self, language: str) -> bool:
        """Return whether it encodes texts in a language, itself or by ``other``; True if its languages are unknown."""
        known = self.languages is None or language in self.languages
        return known or (self.other is not None and self.other.knows(language))


class ImageEncode(Protocol):
    """The encoding function of an image backbone."""

    def __call__(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Compute features in the order of the files; a picture that cannot be read has a problem."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageBackbone:
    """A frozen image encoder.

    Attributes:
        name: A name that identifies weights and processing: equal names give equal features. It is part of the cache
            key.
        dim: Length of a vector.
        classes: Names of the classes in the order of the probabilities; None without a classifier.
    """

    name: str
    dim: int
    encode: ImageEncode
    classes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DualEncoder:
    """A text and an image backbone that were trained together, like CLIP; ``share_space`` is True for them."""

    text: TextBackbone
    image: ImageBackbone


def share_space(text: TextBackbone, image: ImageBackbone) -> bool:
    """Tell whether the cosine of a text vector with an image vector is meaningful without further training."""
    return text.name == image.name


def check_finite(name: str, arrays: Mapping[str, torch.Tensor | NDArray[Any]]) -> None:
    """Raise ``FeatureError`` if a number of a model is not finite."""
    for part, array in arrays.items():
        finite = np.isfinite(array) if isinstance(array, np.ndarray) else array.isfinite()
        if not finite.all():
            raise FeatureError(f"{name}: has numbers that are not finite ({part}): fetch or train the model again")


def check_dim(side: str, setting: str, features: int, dim: int) -> None:
    """Raise ``SettingError`` if vectors that are not projected have another length than the joint space."""
    if features != dim:
        raise SettingError(f"{side}.{setting}: dim is {dim}, the {side} features have {features}; set dim to it")
