"""The concept bridge: a space without training, where the class names that a classifier sees stand for the picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from iconotext.features.concepts import centred, concept_vectors

if TYPE_CHECKING:
    from iconotext.features.backbone import ImageFeatures, TextBackbone
    from iconotext.types import FloatMatrix

CONCEPTS = 10
"""Class names that stand for an image where nobody says otherwise; see ``concept_vectors``."""


@dataclass(frozen=True, eq=False)
class ConceptBridge:
    """Sentences and class names as vectors of one text backbone.

    Attributes:
        text: The text backbone.
        classes: Names of the image backbone's classes; () without a classifier, and then no image has a vector.
        k: How many of an image's most probable class names stand for it.
    """

    text: TextBackbone
    classes: tuple[str, ...]
    k: int = CONCEPTS

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.text.dim

    @cached_property
    def class_vectors(self) -> FloatMatrix:
        """(C, dim) the class names as text."""
        return self.text.encode(self.classes)

    def sentences(self, vectors: FloatMatrix, among: FloatMatrix | None = None) -> FloatMatrix:
        """See ``Space``; in a document, less what all its sentences share."""
        return vectors if among is None else centred(vectors, among)

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """See ``Space``.

        Raises:
            FeatureError: The features have no class probabilities.
        """
        return concept_vectors(features, self.class_vectors, k=self.k)
