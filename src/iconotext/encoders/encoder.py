"""``Encoder`` turns sentences, images and documents into vectors of one space; ``untrained_encoder`` makes one.

``EncodedDocument`` and ``EncodedImages`` are the results of encoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.encoders.bridge import CONCEPTS, ConceptBridge
from iconotext.encoders.image_source import ImageSource, NumberedFeatures, picture_source
from iconotext.encoders.spaces import SharedSpace
from iconotext.features import cached_text, share_space
from iconotext.features.languages import encode_texts
from iconotext.similarity import unit_rows
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.encoders.coherence_relations import Coherence
    from iconotext.encoders.image_source import ImageParts
    from iconotext.encoders.spaces import Space
    from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, TextBackbone
    from iconotext.features.cache import FeatureCache
    from iconotext.features.cached_backbones import ReadLayers
    from iconotext.types import Document, FloatMatrix


@dataclass(frozen=True, slots=True, eq=False)
class EncodedImages:
    """n images as vectors in the space of an encoder.

    Attributes:
        vectors: (n, dim) float32 unit vectors; zeros for an image that cannot be encoded.
        problems: For each image, the reason why it cannot be encoded, or None.
        features: The features from which the vectors were made, n rows of the image backbone; zeros for an image that
            cannot be encoded.
    """

    vectors: FloatMatrix
    problems: tuple[str | None, ...]
    features: ImageFeatures


@dataclass(frozen=True, eq=False)
class EncodedDocument:
    """A document's encoded parts, so that one sentence or image can be changed while the rest stays the same.

    The similarity is not only the cosine of two vectors: a space may first subtract what is common to the whole
    document. The common part is that of the features here, of the original document, so that a changed sentence is
    compared within the unchanged rest.

    Attributes:
        document: The document, with the problems of its images.
        vectors: (S, features) of the sentences, from the encoder's ``reader``.
        image_features: The features of the images that were encoded.
        similarity: (S, V) float32 of each sentence with each image; 0 for an image that was not encoded.
    """

    document: Document
    encoder: Encoder
    vectors: FloatMatrix
    image_features: NumberedFeatures
    similarity: FloatMatrix

    @property
    def caption_vectors(self) -> FloatMatrix | None:
        """(S, features) of the sentences, if the backbone for captions made them; else None."""
        return self.vectors if self.encoder.reader is self.encoder.text_backbone else None

    @property
    def pooled(self) -> Mapping[int, FloatMatrix]:
        """Map the number of each encoded image to its (P,) pooled features."""
        return dict(zip(self.image_features.numbers, self.image_features.features.pooled, strict=True))

    def sentences(self, texts: Sequence[str], places: Sequence[int]) -> FloatMatrix:
        """Encode n texts, each in the place of a sentence of the document: (n, dim) vectors. Nothing is cached."""
        return self.encoder.space.sentences(
            encode_texts(self.encoder.uncached, texts, self.document.language), self.vectors, places
        )

    def images(self, features: ImageFeatures | None = None) -> FloatMatrix:
        """Return (n, dim) vectors of the encoded images or, if given, of ``features``.

        The dot product with a sentence's vector is their similarity.
        """
        numbered = self.image_features.features
        return self.encoder.space.images(numbered if features is None else features, numbered)

    def parts(self, image: int) -> ImageParts | None:
        """Return an image whose regions can be left out; None if only the features of the image are available."""
        return self.encoder.image_source.parts(self.document.images[image])


@dataclass(frozen=True, eq=False)
class Encoder:
    """Puts sentences and images into one vector space: a text backbone, a source of image features, and a space.

    ``encode_sentences`` and ``encode_images`` treat each sentence and image alone. ``similarity`` and ``read`` take a
    whole document, and may subtract the part that all its sentences, or all its images, have in common.

    Attributes:
        name: The name with which the model was loaded.
        text_backbone: The backbone that compares texts with texts, such as captions with sentences.
        reader: The backbone that reads the sentences: ``text_backbone``, unless the model reads words itself.
        uncached: The same as ``reader`` without the cache, for sentences with words left out.
        coherence: Predicts relations between a sentence and an image; None if the model was not trained for them.
        folder: The folder of a trained model; None for other encoders.
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

    @cached_property
    def fingerprint(self) -> str:
        """A name that is equal for equal weights and settings, wherever the files are.

        Vectors of encoders with different fingerprints cannot be compared.
        """
        from iconotext.features.model_folder import folder_name

        # The recipe has the shares of the concept bridge, on which the vectors of sentences depend.
        names = [folder_name(self.folder, self.folder.glob("*.toml"))] if self.folder is not None else []
        return "+".join(map(_placeless, [*names, self.text_backbone.name, self.image_source.name]))

    def encode_sentences(self, texts: Sequence[str]) -> FloatMatrix:
        """Encode S sentences, each alone: (S, dim) float32 unit vectors."""
        return unit_rows(self.space.sentences(encode_texts(self.reader, texts)))

    def encode_images(self, images: Sequence[Image | Picture]) -> EncodedImages:
        """Encode images, files or encoded pictures, each alone."""
        as_images = [image if isinstance(image, Image) else Image("", image) for image in images]
        rows = self.image_source.features_of(as_images)
        without_features = set(range(len(as_images))) - set(rows.numbers)
        problems = tuple(
            problem or ("there is no file of it" if i in without_features else None)
            for i, problem in enumerate(rows.problems)
        )
        vectors = np.zeros((len(as_images), self.dim), np.float32)
        vectors[rows.numbers] = unit_rows(self.space.images(rows.features))
        vectors[[problem is not None for problem in problems]] = 0
        return EncodedImages(vectors, problems, _spread(rows, problems))

    def read(self, document: Document) -> EncodedDocument:
        """Encode a document: its similarities, the problems of its images, and the data for explanations."""
        texts = [sentence.text for sentence in document.sentences]
        return self.read_all([(document, encode_texts(self.reader, texts, document.language))])[0]

    def read_all(self, documents: Sequence[tuple[Document, FloatMatrix]]) -> list[EncodedDocument]:
        """Encode several documents, each with its sentences' vectors from ``reader``; images are encoded together."""
        features = self.image_source.features_by_document([document.images for document, _ in documents])
        pairs = [(vectors, numbered.features) for (_, vectors), numbered in zip(documents, features, strict=True)]
        read = []
        for (document, vectors), rows, cosines in zip(documents, features, self.space.similarities(pairs), strict=True):
            similarity = np.zeros((len(vectors), len(document.images)), np.float32)
            similarity[:, rows.numbers] = cosines
            read.append(EncodedDocument(_with_problems(document, rows.problems), self, vectors, rows, similarity))
        return read

    def similarity(self, document: Document) -> FloatMatrix:
        """Compute the (S, V) float32 similarities of sentences and images; 0 for an image that cannot be encoded."""
        return self.read(document).similarity


def untrained_encoder(
    name: str,
    text: TextBackbone,
    image: ImageBackbone,
    *,
    k: int = CONCEPTS,
    captions: TextBackbone | None = None,
    cache: FeatureCache | None = None,
    read_layers: ReadLayers | None = None,
) -> Encoder:
    """Make an encoder without training: in the backbones' own space if they share one, else in the concept bridge.

    ``captions`` compares texts with texts; default: ``text``, which compares them with images.
    """

    def cached(backbone: TextBackbone) -> TextBackbone:
        return backbone if cache is None else cached_text(backbone, cache, read_layers=read_layers)

    reading = cached(text)
    text_backbone = reading if captions in (None, text) else cached(captions)
    shared = share_space(text, image)
    space = SharedSpace(text.dim) if shared else ConceptBridge(reading, image.classes or (), k)
    return Encoder(name, text_backbone, reading, text, picture_source(image, cache), space)


def _with_problems(document: Document, problems: Sequence[str | None]) -> Document:
    """Give the images these problems, without the file's name in front: an image has its name beside the problem."""
    if all(image.problem is problem for image, problem in zip(document.images, problems, strict=True)):
        return document
    images = tuple(
        replace(image, problem=problem and problem.removeprefix(f"{image.file!s}: "))
        for image, problem in zip(document.images, problems, strict=True)
    )
    return replace(document, images=images)


def _spread(numbered: NumberedFeatures, problems: tuple[str | None, ...]) -> ImageFeatures:
    """Put the features of the encoded images at their numbers among all images; other images have zeros."""
    if len(numbered.numbers) == len(problems):
        return numbered.features
    spread: dict[str, Any] = {}
    for name, array in numbered.features.arrays().items():
        spread[name] = np.zeros((len(problems), *array.shape[1:]), array.dtype)
        spread[name][numbered.numbers] = array
    return replace(numbered.features, **spread, problems=problems)


def _placeless(name: str) -> str:
    """Remove the folder's name from a name made by ``folder_name``; other names stay unchanged.

    Equal models in different folders then have equal fingerprints.
    """
    return re.sub(r"^[^/]*@(?=[0-9a-f]{16}(?:/|$))", "@", name)
