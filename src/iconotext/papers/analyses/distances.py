"""Distances between gold images and negatives, as chosen in training and in evaluation (Li 2021, Fig. 2b)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import CorpusError, SettingError, ShapeError
from iconotext.papers.analyses.settings import BATCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.image_source import ImageSource
    from iconotext.types import Document


@dataclass(frozen=True, slots=True, eq=False)
class ImageVectors:
    """The images of a document.

    Attributes:
        vectors: (images, dim) frozen features.
        names: (images,) equal for images that show the same picture.
        links: Gold links as (sentence, image).
    """

    id: str
    vectors: NDArray[np.floating]
    names: tuple[str | int, ...]
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """L2 distances between a sentence's gold image and negatives, one document after the other.

    Attributes:
        training: (T,) to images of other documents of the batch.
        evaluation: (E,) to images of the same document without a link to the sentence.
        training_counts: (D,) number of distances of each document in ``training``.
        evaluation_counts: (D,) number of distances of each document in ``evaluation``.
        golds: Number of pairs of a sentence and a gold image.
    """

    training: NDArray[np.float64]
    evaluation: NDArray[np.float64]
    training_counts: NDArray[np.int64]
    evaluation_counts: NDArray[np.int64]
    golds: int


def some_linked(documents: Iterable[Document], most: int, *, seed: int = 0) -> list[Document]:
    """A random sample of the documents with gold links and images, in order; all if there are few.

    Only the sample is in memory (reservoir sampling).

    Raises:
        CorpusError: There are none.
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


def image_vectors(documents: Iterable[Document], source: ImageSource) -> Iterator[ImageVectors]:
    """Encode the images of documents; unreadable ones are left out, with their links.

    Args:
        source: Of the features; the pooled ones are used.

    Yields:
        The vectors of each document with any readable image.
    """
    for document in documents:
        seen = source.look(document.images)
        rows = [row for row, problem in enumerate(seen.features.problems) if problem is None]
        places = {seen.numbers[row]: place for place, row in enumerate(rows)}
        if places:
            links = tuple((sentence, places[number]) for sentence, number in document.links or () if number in places)
            names = tuple(_name(document, number) for number in places)
            yield ImageVectors(document.id, seen.features.pooled[rows], names, links)


def negative_distances(documents: Sequence[ImageVectors], *, batch: int = BATCH, seed: int = 0) -> Distances:
    """Distances of gold images to the negatives of training and of evaluation.

    The documents are put at random into batches, of ``batch`` or a few more. The negatives of a gold image are all
    images of the other documents in its batch, except documents that share a picture with its own.

    Args:
        documents: With gold links; a document without links serves only as a negative.
        batch: Documents in a batch, at least 2.

    Raises:
        SettingError: The batch is too small.
        ShapeError: Vectors do not fit each other, or a link is outside its document.
        CorpusError: There are fewer than two documents, or no sentence has a gold image and a negative of each kind.
    """
    if batch < 2:
        raise SettingError(f"batch is {batch}; a document needs another to be compared with, so give 2 or more")
    if len(documents) < 2:
        raise CorpusError(f"{len(documents)} documents have images that can be read: the bias needs two or more")
    _check(documents)
    order = np.random.default_rng(seed).permutation(len(documents))
    training: list[NDArray[np.float64]] = [np.zeros(0)] * len(documents)
    evaluation = list(training)
    golds = 0
    for numbers in np.array_split(order, max(1, len(order) // batch)):
        together = [documents[number] for number in numbers.tolist()]
        for number, far, near, pairs in zip(numbers.tolist(), *_of_batch(together), strict=True):
            training[number], evaluation[number] = far, near
            golds += pairs
    found = Distances(
        np.concatenate(training),
        np.concatenate(evaluation),
        np.array([len(each) for each in training]),
        np.array([len(each) for each in evaluation]),
        golds,
    )
    if not ((found.training_counts > 0) & (found.evaluation_counts > 0)).any():
        raise CorpusError(
            "no document has a sentence with a gold image, another image in the document, and images of other "
            "documents: the bias needs gold links in documents of several images"
        )
    return found


def _name(document: Document, number: int) -> str:
    """Equal for images of the same file."""
    image = document.images[number]
    return str(image.file) if image.file and not isinstance(image.file, bytes) else image.source


def _check(documents: Sequence[ImageVectors]) -> None:
    dim = documents[0].vectors.shape[-1]
    for each in documents:
        images = len(each.names)
        if each.vectors.shape != (images, dim):
            raise ShapeError(f"document {each.id!r}: vectors {each.vectors.shape}, expected ({images}, {dim})")
        if not np.isfinite(each.vectors).all():
            raise ShapeError(f"document {each.id!r}: a feature is not a number")
        for sentence, image in each.links:
            if sentence < 0 or not 0 <= image < images:
                raise ShapeError(f"document {each.id!r}: link ({sentence}, {image}) leads out of its {images} images")


def _of_batch(
    documents: Sequence[ImageVectors],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]], list[int]]:
    """For each document of a batch its distances to other documents, to its own images, and number of gold pairs."""
    from scipy.spatial.distance import cdist

    counts = [len(each.names) for each in documents]
    owners = np.repeat(np.arange(len(documents)), counts)
    vectors = np.concatenate([np.asarray(each.vectors, np.float64) for each in documents])
    starts = np.cumsum([0, *counts])
    names = [set(each.names) for each in documents]
    training, evaluation, golds = [], [], []
    for number, each in enumerate(documents):
        to_all = cdist(vectors[starts[number] : starts[number + 1]], vectors)
        strangers = np.array([other != number and not names[number] & names[other] for other in range(len(documents))])
        outside, own = strangers[owners], to_all[:, starts[number] : starts[number + 1]]
        far, near, pairs = [np.zeros(0)], [np.zeros(0)], 0
        linked: dict[int, set[int]] = {}
        for sentence, image in each.links:
            linked.setdefault(sentence, set()).add(image)
        for images in linked.values():
            shown = {each.names[image] for image in images}
            others = np.array([name not in shown for name in each.names])
            for image in sorted(images):
                far.append(to_all[image, outside])
                near.append(own[image, others])
                pairs += 1
        training.append(np.concatenate(far))
        evaluation.append(np.concatenate(near))
        golds.append(pairs)
    return training, evaluation, golds
