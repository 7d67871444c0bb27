"""A space for sentences and images: the dot product of two of its vectors is their similarity.

Sentences and images may be on their own, like a search query and a picture in a library, or in a document. In a
document a space may subtract what all sentences, or all images, have in common: the document's topic does not tell
which of its sentences a picture shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from iconotext.features.backbone import ImageFeatures
    from iconotext.types import FloatMatrix


class Space(Protocol):
    """Turns the features of texts and of images into vectors of one space."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    def sentences(
        self, vectors: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """The vectors of n texts.

        Args:
            vectors: (n, features) of the texts.
            among: (S, features) of all sentences of their document; None for texts on their own.
            places: (n,) number of the sentence that each text replaces; None if the texts are all the sentences.

        Returns:
            (n, dim) float32.
        """

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """The vectors of n images.

        Args:
            features: From the image backbone.
            among: The features of all images of their document; None for images on their own.

        Returns:
            (n, dim) float32.
        """

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """(S, V) float32 similarities of each document's sentences and images; independent of the other documents."""


Features = tuple["FloatMatrix", "ImageFeatures"]
"""The features of a document's S sentences, and of its V images."""


@dataclass(frozen=True, slots=True)
class SharedSpace:
    """The space of a dual encoder (CLIP, SigLIP): features are the vectors; in a document nothing is subtracted."""

    dim: int

    def sentences(
        self, vectors: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """See ``Space``."""
        return vectors

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """See ``Space``."""
        return features.pooled

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """See ``Space``."""
        return [vectors @ features.pooled.T for vectors, features in documents]


@dataclass(frozen=True, slots=True, eq=False)
class MixedSpace:
    """Two spaces side by side: similarities are (1 - share) times the first space's plus share times the second's."""

    first: Space
    second: Space
    share: float

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.first.dim + self.second.dim

    def sentences(
        self, vectors: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """See ``Space``."""
        return self._beside(*(each.sentences(vectors, among, places) for each in (self.first, self.second)))

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """See ``Space``."""
        return self._beside(self.first.images(features, among), self.second.images(features, among))

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """See ``Space``."""
        both = zip(self.first.similarities(documents), self.second.similarities(documents), strict=True)
        return [np.asarray((1 - self.share) * first + self.share * second, np.float32) for first, second in both]

    def _beside(self, first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
        both = np.hstack([np.sqrt(1 - self.share) * first, np.sqrt(self.share) * second])
        return np.asarray(both, np.float32)


def at_once(work: Callable[[FloatMatrix], FloatMatrix], parts: Sequence[FloatMatrix]) -> list[FloatMatrix]:
    """Apply ``work`` to the rows of all parts in one call, and split the result by part."""
    if not parts:
        return []
    found = work(np.concatenate(parts))
    return np.split(found, np.cumsum([len(part) for part in parts[:-1]]))


def unit_rows(vectors: FloatMatrix) -> FloatMatrix:
    """(n, dim) rows scaled to length 1; rows of zeros stay."""
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
