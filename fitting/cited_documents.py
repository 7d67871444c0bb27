"""Training documents for the combination: real ones, and real ones disturbed so that every setting is seen.

Cited figures mostly come from books, where a figure follows the paragraph that cites it and has a caption as well
as an alt text. The model must not take that for a law, so some copies lose a caption or alt text and some images
move: before their paragraph, into it, some blocks away. Images of other documents, at a random place, teach it what
no link looks like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from iconotext.encoders.bridge import centred
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

FOREIGN = 0.25
"""Pictures of other documents put into a document, per image of its own."""


Compare = Callable[["FloatMatrix", "FloatMatrix"], "FloatMatrix"]


def bridge_similarity(sentences: FloatMatrix, images: FloatMatrix) -> FloatMatrix:
    """(S, V) cosines over the concept bridge, of (S, d) and (V, d) vectors."""
    product: FloatMatrix = centred(sentences) @ images.T
    return product


@dataclass(frozen=True, slots=True, eq=False)
class Cited:
    """A document whose ``links`` are the sentences that cite its figures, the marks of the citation removed.

    Attributes:
        document: With S sentences and V images; images without links are left out of the fit.
        sentence_vectors: (S, d) texts of the sentences.
        image_vectors: (V, any) images, as ``compare`` takes them; None where the pictures are not at hand.
        collection: The book or site it is from: what has one author's habits.
        compare: Vectors of sentences and of images to the (S, V) similarity; by default in the concept bridge's space.
    """

    document: Document
    sentence_vectors: FloatMatrix
    image_vectors: FloatMatrix | None
    collection: str
    compare: Compare = bridge_similarity

    @property
    def similarity(self) -> FloatMatrix | None:
        """(S, V) similarities of sentences and images; None without pictures."""
        return None if self.image_vectors is None else self.compare(self.sentence_vectors, self.image_vectors)


def with_foreign(
    cited: Cited, others: Sequence[Cited], rng: np.random.Generator, *, share: float = FOREIGN, inside: float = 0.0
) -> Cited:
    """The document with images of others after its own; they have no links.

    They stand between two blocks, and a share of ``inside`` within one: were it otherwise than with the document's own
    images, the place would tell that an image is foreign.
    """
    document = cited.document
    seen = cited.image_vectors is not None
    number = int(rng.binomial(4 * len(document.images), share / 4)) if len(others) > 1 else 0
    images, vectors = list(document.images), [] if cited.image_vectors is None else [cited.image_vectors]
    _, edges = _edges(document)
    for _ in range(number):
        other = others[int(rng.integers(len(others)))]
        unlike = other.document.id == document.id or not other.document.images
        if unlike or (seen and other.image_vectors is None):
            continue
        k = int(rng.integers(len(other.document.images)))
        position = int(rng.integers(len(document.sentences) + 1) if rng.random() < inside else rng.choice(edges))
        images.append(replace(other.document.images[k], position=position, block=None))
        if seen and other.image_vectors is not None:
            vectors.append(other.image_vectors[k : k + 1])
    together = np.concatenate(vectors) if seen else None
    return replace(cited, document=replace(document, images=tuple(images)), image_vectors=together)


def _edges(document: Document) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(S,) block of every sentence, and the positions where blocks begin or end; without layout every position."""
    blocks = np.array([i if s.block is None else s.block for i, s in enumerate(document.sentences)], dtype=np.int64)
    starts = np.flatnonzero(np.diff(blocks, prepend=-1) != 0)
    return blocks, np.append(starts, len(blocks))


def moved(cited: Cited, rng: np.random.Generator, *, share: float) -> Cited:
    """The document with a share of its cited images moved: before their paragraph, into it, or some blocks away."""
    document = cited.document
    if not document.has_layout:
        return cited
    blocks, edges = _edges(document)
    starts = edges[:-1]
    images = list(document.images)
    # One way of setting images per document: authors keep to theirs.
    before, inside = rng.random() < 0.4, rng.random() < 0.5
    for i, j in document.links or ():
        if rng.random() >= share:
            continue
        k = int(np.searchsorted(starts, i, side="right")) - 1
        block = None
        if before:
            position = int(starts[k])
        elif inside:
            # Half of them right after the sentence, the rest anywhere: many hang at the head or end of a paragraph.
            position = i + 1 if rng.random() < 0.5 else int(rng.integers(edges[k], edges[k + 1] + 1))
            block = int(blocks[i])
        else:
            position = int(edges[np.clip(k + 1 + rng.integers(-3, 4), 0, len(edges) - 1)])
        images[j] = replace(images[j], position=position, block=block)
    return replace(cited, document=replace(document, images=tuple(images)))


def shortened(cited: Cited, rng: np.random.Generator) -> Cited:
    """The document with captions taken from three images of ten, all texts from one, alt texts from one more."""

    def shorten(image: Image) -> Image:
        draw = rng.random()
        if draw < 0.4:
            image = replace(image, caption=None)
        return replace(image, alt=None, source="") if 0.3 <= draw < 0.5 else image

    document = cited.document
    return replace(cited, document=replace(document, images=tuple(shorten(image) for image in document.images)))


def variants(documents: Sequence[Cited], *, seed: int) -> list[tuple[Cited, float]]:
    """Two copies of every document: as it is, and disturbed; both with foreign images.

    Returns:
        Twice as many documents as came in, with the weight of their images: a disturbed one, which is a collection of
        its own, counts half, and a collection as much as the square root of its number of images.
    """
    rng = np.random.default_rng(seed)
    sizes = Counter({cited.collection: 0 for cited in documents})
    for cited in documents:
        sizes[cited.collection] += len(cited.document.images)
    mean = np.mean([size**-0.5 for size in sizes.values() if size]) if documents else 1.0
    result = []
    for cited in documents:
        weight = float(max(sizes[cited.collection], 1) ** -0.5 / mean)
        result.append((with_foreign(cited, documents, rng), weight))
        disturbed = shortened(moved(cited, rng, share=0.6), rng)
        alone = replace(disturbed, collection=f"disturbed {cited.document.id}")
        result.append((with_foreign(alone, documents, rng, inside=0.2), weight / 2))
    return result
