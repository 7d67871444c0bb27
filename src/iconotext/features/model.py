"""Backbones made of a network's functions, whichever library runs the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iconotext.errors import FeatureError
from iconotext.features.backbone import ImageFeatures, Picture, blank_features
from iconotext.features.decoding import encode_ahead, pixel_batches
from iconotext.features.device import best_device, image_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow

    from iconotext.types import FloatMatrix

SIDE = 512
"""Shorter side in pixels that a picture keeps when it is decoded; the model's own processing goes on from there."""


@dataclass(frozen=True, slots=True)
class TextModel:
    """A text backbone; see ``TextBackbone``.

    Attributes:
        name: Identifies weights and processing.
        dim: Length of a vector.
        vectors: (n, dim) float32, rows of length 1, of n texts.
    """

    name: str
    dim: int
    vectors: Callable[[Sequence[str]], FloatMatrix]

    @property
    def space(self) -> str:
        """See ``share_space``."""
        return self.name

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, dim) float32, rows of length 1; texts are cut after the model's number of tokens."""
        return self.vectors(texts)


@dataclass(frozen=True, slots=True)
class ImageModel:
    """An image backbone; see ``ImageBackbone``.

    Attributes:
        name: Identifies weights and processing.
        dim: Length of a vector.
        prepare: From a picture to what the network wants.
        forward: From b of these, and whether regions are wanted, to arrays named as those of ``ImageFeatures``.
        classes: Names of its classes; None without a classifier.
        has_regions: Whether it can tell regions apart.
    """

    name: str
    dim: int
    prepare: Callable[[Pillow.Image], Any]
    forward: Callable[[list[Any], bool], Mapping[str, NDArray[Any]]]
    classes: tuple[str, ...] | None = None
    has_regions: bool = False

    @property
    def space(self) -> str:
        """See ``share_space``."""
        return self.name

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Look at pictures; see ``ImageBackbone``."""
        if regions and not self.has_regions:
            raise FeatureError(f"{self.name}: this model knows no regions: use another backbone")
        blank = blank_features(len(files), self.dim, classes=len(self.classes or ()), regions=regions)
        batches = pixel_batches(files, self.prepare, at_least=SIDE, batch_size=image_batch(best_device()))
        return encode_ahead(blank, batches, lambda pixels: self.forward(pixels, regions))
