"""A space in which sentences and images meet: the product of two of its vectors is the similarity of the two.

A sentence and an image may stand alone, as a search query and a picture of a library do, or in a document. There a
space may take away what all sentences, or all images, have in common: the topic of a document does not tell which of
its sentences a picture shows.
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
    """What makes vectors of one space out of the features of texts and of images."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    def sentences(
        self, vectors: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """The vectors of n texts.

        Args:
            vectors: (n, features) of the texts.
            among: (S, features) of all sentences of the document that they stand in; None for texts that stand alone.
            places: (n,) numbers of the sentences that each of them replaces; None where they are all the sentences.

        Returns:
            (n, dim) float32.
        """

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """The vectors of n images.

        Args:
            features: What the image backbone makes of the images.
            among: The features of all images of the document that they stand in; None for images that stand alone.

        Returns:
            (n, dim) float32.
        """

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """(S, V) float32 of each document, its sentences with its images, whatever documents are given beside it."""


Features = tuple["FloatMatrix", "ImageFeatures"]
"""A document: the features of its S sentences, and of its V images."""


@dataclass(frozen=True, slots=True)
class SharedSpace:
    """The space of a dual encoder (CLIP, SigLIP): the features are the vectors; a document takes nothing from them."""

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
    """Two spaces side by side: products are (1 - share) times those of the first, and share times the second's."""

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
    """What ``work`` makes of the rows of each part, which it is given all together."""
    if not parts:
        return []
    found = work(np.concatenate(parts))
    return np.split(found, np.cumsum([len(part) for part in parts[:-1]]))


def unit_rows(vectors: FloatMatrix) -> FloatMatrix:
    """(n, dim) rows of length 1; a row of zeros stays one."""
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
