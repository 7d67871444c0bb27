"""The space of a dual encoder (CLIP, SigLIP): text and image backbone were trained together and meet as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iconotext.features.backbone import ImageFeatures
    from iconotext.types import FloatMatrix


@dataclass(frozen=True, slots=True)
class SharedSpace:
    """The features are the vectors; a document takes nothing away from them.

    Attributes:
        dim: Length of a vector.
    """

    dim: int

    def sentences(self, vectors: FloatMatrix, among: FloatMatrix | None = None) -> FloatMatrix:
        """See ``Space``."""
        return vectors

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """See ``Space``."""
        return features.pooled
