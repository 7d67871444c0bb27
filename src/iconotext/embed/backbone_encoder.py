"""An encoder made of frozen backbones and a space: what all kinds of encoders have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.bridge import CONCEPTS, ConceptBridge
from iconotext.embed.image_source import ImageSource, SeenImages, looking_with
from iconotext.embed.space import SharedSpace, unit_rows
from iconotext.features import cached_text, share_space
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.embed.coherence import Coherence
    from iconotext.embed.occlusion import ImageParts
    from iconotext.embed.space import Space
    from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, TextBackbone
    from iconotext.features.cache import FeatureCache
    from iconotext.features.cached import ReadLayers
    from iconotext.types import Document, FloatMatrix


@dataclass(frozen=True, slots=True, eq=False)
class EncodedImages:
    """n images in the space of an encoder.

    Attributes:
        vectors: (n, dim) float32 rows of length 1; zeros for one that cannot be encoded.
        problems: Why each cannot be encoded, None for a good one.
        features: What the vectors were made of, n rows of the image backbone; zeros likewise.
    """

    vectors: FloatMatrix
    problems: tuple[str | None, ...]
    features: ImageFeatures


@dataclass(frozen=True, eq=False)
class EncodedDocument:
    """A document held still while one of its sentences or images is changed.

    What links are found by is not the cosine of two vectors alone: of each sentence and each image, something that the
    whole document has in common may be taken away first. That is kept here as it is, so that a changed sentence stands
    among the unchanged rest.

    Attributes:
        document: With the problems of its images.
        vectors: (S, features) of the sentences, by the encoder's ``reader``.
        similarity: (S, V) float32 of each sentence with each image; 0 for an image that was not encoded.
    """

    document: Document
    encoder: BackboneEncoder
    vectors: FloatMatrix
    seen: SeenImages
    similarity: FloatMatrix

    @property
    def caption_vectors(self) -> FloatMatrix | None:
        """(S, features) of the sentences, by the backbone that reads captions; None where that is another one."""
        return self.vectors if self.encoder.reader is self.encoder.text_backbone else None

    @property
    def pooled(self) -> Mapping[int, FloatMatrix]:
        """Numbers of the encoded images to their (P,) pooled features."""
        return dict(zip(self.seen.numbers, self.seen.features.pooled, strict=True))

    def sentences(self, texts: Sequence[str], places: Sequence[int]) -> FloatMatrix:
        """(n, dim) vectors of texts, each in the place of one of the sentences; nothing is kept in the cache."""
        return self.encoder.space.sentences(self.encoder.uncached.encode(texts), self.vectors, places)

    def images(self, features: ImageFeatures | None = None) -> FloatMatrix:
        """(n, dim) vectors of the encoded images, or of features in place of one of them.

        The product with a sentence's vector is the similarity of the two.
        """
        return self.encoder.space.images(self.seen.features if features is None else features, self.seen.features)

    def parts(self, image: int) -> ImageParts | None:
        """An image of which parts can be taken away; None where only its features are known."""
        return self.encoder.image_source.parts(self.document.images[image])


@dataclass(frozen=True, eq=False)
class BackboneEncoder:
    """See ``iconotext.encoder.Encoder``.

    Attributes:
        text_backbone: Compares texts with texts.
        reader: Reads the sentences: the same, but for a model that reads words in its own way.
        uncached: Reads sentences like ``reader``, but keeps nothing: for sentences that were made up.
        image_source: Where the features of images come from.
        space: Where the two meet.
        coherence: Tells relations; None for most models.
        folder: The folder of a trained model; None for others.
    """

    name: str
    text_backbone: TextBackbone
    reader: TextBackbone
    uncached: TextBackbone
    image_source: ImageSource
    space: Space
    coherence: Coherence | None = None
    folder: Path | None = None

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.space.dim

    @property
    def language(self) -> str | None:
        """See ``Encoder``."""
        return self.reader.language

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal vectors of what stands alone."""
        from iconotext.features.fingerprint import folder_name

        names = [folder_name(self.folder)] if self.folder is not None else []
        return "+".join(map(_placeless, [*names, self.text_backbone.name, self.image_source.name]))

    def encode_sentences(self, texts: Sequence[str]) -> FloatMatrix:
        """See ``Encoder``."""
        return unit_rows(self.space.sentences(self.reader.encode(texts)))

    def encode_images(self, images: Sequence[Image | Picture]) -> EncodedImages:
        """See ``Encoder``."""
        given = [image if isinstance(image, Image) else Image("", image) for image in images]
        seen = self.image_source.look(given)
        unseen = set(range(len(given))) - set(seen.numbers)
        problems = tuple(
            problem or ("there is no file of it" if n in unseen else None) for n, problem in enumerate(seen.problems)
        )
        vectors = np.zeros((len(given), self.dim), np.float32)
        vectors[seen.numbers] = unit_rows(self.space.images(seen.features))
        vectors[[problem is not None for problem in problems]] = 0
        return EncodedImages(vectors, problems, _spread(seen, problems))

    def read(self, document: Document) -> EncodedDocument:
        """See ``Encoder``."""
        return self.read_all([(document, self.reader.encode([sentence.text for sentence in document.sentences]))])[0]

    def read_all(self, documents: Sequence[tuple[Document, FloatMatrix]]) -> list[EncodedDocument]:
        """See ``Encoder``."""
        looked = self.image_source.look_at_all([document.images for document, _ in documents])
        given = [(vectors, seen.features) for (_, vectors), seen in zip(documents, looked, strict=True)]
        read = []
        for (document, vectors), seen, found in zip(documents, looked, self.space.similarities(given), strict=True):
            similarity = np.zeros((len(vectors), len(document.images)), np.float32)
            similarity[:, seen.numbers] = found
            read.append(EncodedDocument(_with_problems(document, seen.problems), self, vectors, seen, similarity))
        return read

    def similarity(self, document: Document) -> FloatMatrix:
        """See ``Encoder``."""
        return self.read(document).similarity


def untrained_encoder(
    name: str,
    text: TextBackbone,
    image: ImageBackbone,
    *,
    k: int = CONCEPTS,
    cache: FeatureCache | None = None,
    read_layers: ReadLayers | None = None,
) -> BackboneEncoder:
    """An encoder without training: direct where the backbones share a space, else over the concept bridge.

    Args:
        k: How many class names stand for an image; see ``concept_vectors``.
        read_layers: As for ``cached_text``.
    """
    reading = text if cache is None else cached_text(text, cache, read_layers=read_layers)
    shared = share_space(text, image)
    space = SharedSpace(text.dim) if shared else ConceptBridge(reading, image.classes or (), k)
    return BackboneEncoder(name, reading, reading, text, looking_with(image, cache), space)


def _with_problems(document: Document, problems: Sequence[str | None]) -> Document:
    if all(image.problem is problem for image, problem in zip(document.images, problems, strict=True)):
        return document
    images = tuple(
        replace(image, problem=problem and problem.removeprefix(f"{image.file!s}: "))
        for image, problem in zip(document.images, problems, strict=True)
    )
    return replace(document, images=images)


def _spread(seen: SeenImages, problems: tuple[str | None, ...]) -> ImageFeatures:
    """The features at their places among all images; zeros for an image that has none."""
    if len(seen.numbers) == len(problems):
        return seen.features
    spread: dict[str, Any] = {}
    for name, array in seen.features.arrays().items():
        spread[name] = np.zeros((len(problems), *array.shape[1:]), array.dtype)
        spread[name][seen.numbers] = array
    return replace(seen.features, **spread, problems=problems)


def _placeless(name: str) -> str:
    """What ``features.fingerprint.folder_name`` gives, without the folder's name; another name as it is."""
    return re.sub(r"^[^/]*@(?=[0-9a-f]{16}(?:/|$))", "@", name)
