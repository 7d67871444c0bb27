"""The frozen features of documents' images, as ``iconotext.papers.analyses.bias`` compares them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import CorpusError
from iconotext.papers.analyses.bias import ImageVectors

if TYPE_CHECKING:
    from iconotext.features import ImageBackbone
    from iconotext.features.feature_table import FeatureTable
    from iconotext.types import Document, FloatMatrix


def some_linked(documents: Iterable[Document], most: int, *, seed: int = 0) -> list[Document]:
    """A random part of the documents that have gold links and images, in their order; all of them if there are few.

    Only those that are kept are in memory (reservoir sampling).

    Args:
        documents: Any number.
        most: How many are kept.
        seed: Equal seeds keep equal documents.

    Raises:
        CorpusError: There is none.
    """
    random = np.random.default_rng(seed)
    kept: list[tuple[int, Document]] = []
    seen = 0
    for document in documents:
        if not document.links or not document.images:
            continue
        if len(kept) < most:
            kept.append((seen, document))
        elif (place := int(random.integers(seen + 1))) < most:
            kept[place] = (seen, document)
        seen += 1
    if not kept:
        raise CorpusError(
            "no document has gold links, which say what a negative is: name a corpus, or a split, that has"
        )
    return [document for _, document in sorted(kept, key=lambda each: each[0])]


def document_images(documents: Iterable[Document], image: ImageBackbone | FeatureTable) -> Iterator[ImageVectors]:
    """Encode the images of documents; those that cannot be read are left out, with their links.

    Args:
        documents: With gold links.
        image: A backbone, whose pooled features count, or a table of features.

    Yields:
        For each document that has an image left.
    """
    for document in documents:
        good, vectors = _vectors(document, image)
        if not good:
            continue
        places = {number: place for place, number in enumerate(good)}
        links = tuple((sentence, places[number]) for sentence, number in document.links or () if number in places)
        names = tuple(_name(document, number) for number in good)
        yield ImageVectors(document.id, vectors, names, links)


def _vectors(document: Document, image: ImageBackbone | FeatureTable) -> tuple[Sequence[int], FloatMatrix]:
    """Which images have features, and those."""
    from iconotext.features.feature_table import FeatureTable

    if isinstance(image, FeatureTable):
        there = [number for number, each in enumerate(document.images) if each.source in image]
        return there, image.rows([document.images[number].source for number in there])
    files = [(number, each.file) for number, each in enumerate(document.images) if each.file and not each.problem]
    features = image.encode([file for _, file in files])
    good = [place for place, problem in enumerate(features.problems) if problem is None]
    return [files[place][0] for place in good], features.pooled[good]


def _name(document: Document, number: int) -> str:
    """Equal for images of the same file."""
    image = document.images[number]
    return str(image.file) if image.file and not isinstance(image.file, bytes) else image.source
