"""Spaces for sentences and images, in which the dot product of two vectors is their similarity.

``Space`` is the protocol; ``SharedSpace`` (dual encoders), ``JointSpace`` (trained models) and ``MixedSpace`` (two
spaces together) implement it, and so does the concept bridge in ``encoders.bridge``. ``word_reader`` is the text side
of a model that reads words.

Sentences and images may stand alone, like a search query and a picture in a library, or in a document. In a document a
space may subtract the part that all sentences, or all images, have in common: the document's topic does not tell which
of its sentences a picture shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np

from iconotext.features.backbone import TextBackbone
from iconotext.networks.int8 import load_projection
from iconotext.recipe.encoders import ProjectionSettings
from iconotext.similarity import unit_rows

if TYPE_CHECKING:
    from torch import Tensor

    from iconotext.encoders.stored_model import StoredModel
    from iconotext.features.backbone import ImageFeatures
    from iconotext.features.word_vectors import Vocabulary
    from iconotext.networks.recurrent import WordEncoder
    from iconotext.types import FloatMatrix


class Space(Protocol):
    """Turns the features of texts and of images into vectors of one space."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    def sentences(
        self, features: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """Return the vectors of n texts.

        Args:
            features: (n, features) of the texts.
            among: (S, features) of all sentences of their document; None for texts alone.
            places: (n,) for each text, the number of the sentence that it stands in for; None if the texts are the
                document's own sentences.

        Returns:
            (n, dim) float32.
        """

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """Return the vectors of n images.

        Args:
            among: The features of all images of their document; None for images alone.

        Returns:
            (n, dim) float32.
        """

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """Compute the (S, V) float32 similarities of each document, independent of other documents."""


Features = tuple["FloatMatrix", "ImageFeatures"]
"""The features of a document's S sentences, and of its V images."""


@dataclass(frozen=True, slots=True)
class SharedSpace:
    """The space of a dual encoder (CLIP, SigLIP): features are the vectors; in a document nothing is subtracted."""

    dim: int

    def sentences(
        self, features: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """See ``Space``."""
        return features

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """See ``Space``."""
        return features.pooled

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """See ``Space``."""
        return [vectors @ features.pooled.T for vectors, features in documents]


@dataclass(frozen=True, slots=True, eq=False)
class MixedSpace:
    """Two spaces side by side: similarities are (1 - share) times the first space's plus share times the second's.

    Attributes:
        share: Of the second space, for the sentences of a document.
        share_alone: Of the second space, for a sentence alone.
    """

    first: Space
    second: Space
    share: float
    share_alone: float

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.first.dim + self.second.dim

    def sentences(
        self, features: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """See ``Space``."""
        joined = self._beside(*(space.sentences(features, among, places) for space in (self.first, self.second)))
        if among is None:  # images keep their shares, so that those of a library serve both
            joined[:, : self.first.dim] *= (1 - self.share_alone) / (1 - self.share)
            joined[:, self.first.dim :] *= self.share_alone / self.share
        return joined

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """See ``Space``."""
        return self._beside(self.first.images(features, among), self.second.images(features, among))

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """See ``Space``."""
        pairs = zip(self.first.similarities(documents), self.second.similarities(documents), strict=True)
        return [np.asarray((1 - self.share) * first + self.share * second, np.float32) for first, second in pairs]

    def _beside(self, first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
        # The product of two such vectors is the weighted sum of the spaces' similarities.
        joined = np.hstack([np.sqrt(1 - self.share) * first, np.sqrt(self.share) * second])
        return np.asarray(joined, np.float32)


def in_one_call(work: Callable[[FloatMatrix], FloatMatrix], parts: Sequence[FloatMatrix]) -> list[FloatMatrix]:
    """Apply ``work`` to the rows of all parts in one call, and split the result by part."""
    if not parts:
        return []
    results = work(np.concatenate(parts))
    return np.split(results, np.cumsum([len(part) for part in parts[:-1]]))


BATCH_TEXTS = 1024
"""Sentences that a model in PyTorch encodes at a time; bounds memory."""


@dataclass(frozen=True, slots=True, eq=False)
class JointSpace:
    """The joint space of a trained model's two encoders.

    Attributes:
        stored: The model. If it reads pixels or regions, image features are already its vectors. The same holds for the
            sentences of a model that reads words, unless a second GRU reads the sentences in order: then their features
            are the input of this GRU.
    """

    stored: StoredModel
    _sides: dict[str, Callable[[FloatMatrix], FloatMatrix]] = field(default_factory=dict, repr=False)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.stored.recipe.dim

    def sentences(
        self, features: FloatMatrix, among: FloatMatrix | None = None, places: Sequence[int] | None = None
    ) -> FloatMatrix:
        """Return the vectors of n texts; in a document, minus the share ``recipe.linking.centre`` of the mean."""
        joint = self._sentences(features, among, places)
        if among is None:
            return joint
        # ``is``: if the texts are the document's own sentences, these need not be encoded twice.
        return joint - self._common(joint if among is features else self._sentences(among, among, None))

    def images(self, features: ImageFeatures, among: ImageFeatures | None = None) -> FloatMatrix:
        """Return the vectors of n images, see ``Space``; in a document, minus the same share of the mean."""
        joint = self._images(features.pooled)
        if among is None:
            return joint
        return joint - self._common(joint if among is features else self._images(among.pooled))

    def similarities(self, documents: Sequence[Features]) -> list[FloatMatrix]:
        """See ``Space``."""
        sentences, images = [texts for texts, _ in documents], [features.pooled for _, features in documents]
        if self.stored.vocabulary is not None:  # the features are the vectors, or depend on the order in a document
            texts = [self._sentences(features, features, None) for features in sentences]
        else:
            texts = in_one_call(lambda batch: self._sentences(batch, None, None), sentences)
        pictures = in_one_call(self._images, images)
        return [
            (of_texts - self._common(of_texts)) @ (of_images - self._common(of_images)).T
            for of_texts, of_images in zip(texts, pictures, strict=True)
        ]

    def _sentences(self, features: FloatMatrix, among: FloatMatrix | None, places: Sequence[int] | None) -> FloatMatrix:
        if self.stored.vocabulary is not None:
            text = self.stored.model.text
            return _in_order(text, features, among, places) if reads_in_order(text) else features
        settings = self.stored.recipe.text
        if isinstance(settings, ProjectionSettings):
            return self._side("text", settings)(features)
        return unit_rows(features)

    def _images(self, pooled: FloatMatrix) -> FloatMatrix:
        settings = self.stored.recipe.image
        if not isinstance(settings, ProjectionSettings):
            return pooled
        return self._side("image", settings)(pooled)

    def _side(self, side: str, settings: ProjectionSettings) -> Callable[[FloatMatrix], FloatMatrix]:
        if side not in self._sides:
            self._sides[side] = load_projection(self.stored.projection(side), settings)
        return self._sides[side]

    def _common(self, vectors: FloatMatrix) -> FloatMatrix:
        """Return the (dim,) share of the mean of n vectors that is subtracted.

        The factor 1 - 1 / n makes it less for few vectors, and 0 for one, which would otherwise lose all of itself.
        """
        share = self.stored.recipe.linking.centre
        if not share or not len(vectors):
            return np.zeros(vectors.shape[1], np.float32)
        return np.asarray(np.float32(share * (1 - 1 / len(vectors))) * vectors.mean(0))


def word_reader(stored: StoredModel, vocabulary: Vocabulary, longest: int, name: str) -> TextBackbone:
    """Make a text backbone of the sentence encoder of a model that reads words; ``JointSpace`` says what it returns.

    Args:
        longest: Number of words of a text that are read.
        name: Name of the backbone.
    """

    def encode(texts: Sequence[str]) -> FloatMatrix:
        import torch

        network, batches = stored.model.text, [np.zeros((0, stored.recipe.dim), np.float32)]
        for start in range(0, len(texts), BATCH_TEXTS):
            ids = [vocabulary.ids(text, max_tokens=longest) for text in texts[start : start + BATCH_TEXTS]]
            words = torch.tensor([word for sentence in ids for word in sentence])
            lengths = torch.tensor([len(sentence) for sentence in ids])
            with torch.inference_mode():
                states: Tensor = (network.states if reads_in_order(network) else network)(words, lengths)
            batches.append(states.numpy())
        return np.concatenate(batches)

    return TextBackbone(name, stored.recipe.dim, encode)


def reads_in_order(text: object) -> TypeGuard[WordEncoder]:
    """Tell whether a sentence encoder has a second GRU, which reads the sentences of a document in order."""
    from iconotext.networks.recurrent import WordEncoder

    return isinstance(text, WordEncoder) and text.sentence_gru is not None


def _in_order(
    text: WordEncoder, states: FloatMatrix, among: FloatMatrix | None, places: Sequence[int] | None
) -> FloatMatrix:
    """Return (n, dim) vectors from states of sentences: all of a document, replacements of some, or each alone."""
    import torch

    with torch.inference_mode():
        tensor = torch.tensor(states)
        if among is None:
            return text.vectors(tensor).numpy()
        if places is None:
            return text.vectors(tensor, [len(tensor)]).numpy()
        return text.in_place(tensor, torch.tensor(among), places).numpy()
