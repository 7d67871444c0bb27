"""The cells of a batch of documents, in one array: a cell is a pair of a sentence and an image of the same document.

The result for a document must not depend on the other documents of its batch, not even by rounding. So sums go through
``numpy.bincount``, which adds a document's numbers in order, and everything else is done cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Document, FloatMatrix

    Ints = NDArray[np.int64]

Features = Mapping[str, "FloatMatrix"]
"""Name to (S, V) float32: the features of one kind of evidence, for a document."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The order of the cells of D documents: by document, then image, then sentence.

    Sentences and images are numbered through the whole batch.

    Attributes:
        sentences: (D,) number of sentences of each document, at least 1.
        images: (D,) number of images of each document, at least 1.
    """

    sentences: Ints
    images: Ints

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Cells:
        """Return the cells of documents, each with at least one sentence and one image."""
        return cls(np.array([len(d.sentences) for d in documents]), np.array([len(d.images) for d in documents]))

    @cached_property
    def first_sentence(self) -> Ints:
        """(D,) number of each document's first sentence."""
        return np.cumsum(self.sentences) - self.sentences

    @cached_property
    def first_image(self) -> Ints:
        """(D,) number of each document's first image."""
        return np.cumsum(self.images) - self.images

    @cached_property
    def of_sentence(self) -> Ints:
        """(sentences,) the document of each sentence."""
        return np.repeat(np.arange(len(self.sentences)), self.sentences)

    @cached_property
    def of_image(self) -> Ints:
        """(images,) the document of each image."""
        return np.repeat(np.arange(len(self.images)), self.images)

    @cached_property
    def begin(self) -> Ints:
        """(images,) the first cell of each image."""
        lengths = self.sentences[self.of_image]
        return np.cumsum(lengths) - lengths

    @cached_property
    def image(self) -> Ints:
        """(cells,) number of each cell's image."""
        return np.repeat(np.arange(len(self.of_image)), self.sentences[self.of_image])

    @cached_property
    def sentence(self) -> Ints:
        """(cells,) number of each cell's sentence."""
        return self.first_sentence[self.of_image][self.image] + np.arange(len(self.image)) - self.begin[self.image]

    @cached_property
    def _by_sentence(self) -> tuple[Ints, Ints]:
        """(cells,) the cells ordered by sentence, and (sentences,) the begin of each sentence in this order."""
        lengths = self.images[self.of_sentence]
        return np.argsort(self.sentence, kind="stable"), np.cumsum(lengths) - lengths

    def at(self, sentence: Ints, image: Ints) -> Ints:
        """Return the numbers of the cells of pairs of a sentence and an image; both must be of the same document."""
        return np.asarray(self.begin[image] + sentence - self.first_sentence[self.of_image[image]])

    def image_sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return (images,) sums over the sentences."""
        return np.asarray(np.bincount(self.image, values, len(self.of_image)), np.float64)

    def image_means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return (images,) means over the sentences."""
        return self.image_sums(values) / self.sentences[self.of_image]

    def image_tops(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return (images,) maximum over the sentences."""
        return np.maximum.reduceat(values, self.begin)

    def sentence_sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return (sentences,) sums over the images."""
        return np.asarray(np.bincount(self.sentence, values, len(self.of_sentence)), np.float64)

    def sentence_tops(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return (sentences,) maximum over the images."""
        order, begin = self._by_sentence
        return np.maximum.reduceat(values[order], begin)

    @cached_property
    def _parts(self) -> list[tuple[slice, tuple[int, int]]]:
        """The slice of each document's cells, and (number of images, number of sentences)."""
        sizes = self.sentences * self.images
        ends = np.cumsum(sizes).tolist()
        shapes = zip(self.images.tolist(), self.sentences.tolist(), strict=True)
        return [(slice(end - v * s, end), (v, s)) for end, (v, s) in zip(ends, shapes, strict=True)]

    def matrices(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split (cells,) values into an (S, V) matrix for each document; views, no copies."""
        return [values[part].reshape(shape).T for part, shape in self._parts]

    def columns(self, features: Mapping[str, FloatMatrix]) -> list[Columns]:
        """Split features, name to (cells,), by document."""
        names, stacked = tuple(features), np.stack(list(features.values()))
        return [Columns(names, stacked[:, part].reshape(-1, *shape)) for part, shape in self._parts]

    def joined(self, matrices: Sequence[FloatMatrix | None], dtype: type = np.float32) -> NDArray[Any]:
        """Return (cells,) the inverse of ``matrices``; 0 for a document whose matrix is None."""
        if len(matrices) == 1 and matrices[0] is not None:
            return np.ascontiguousarray(matrices[0].T.ravel(), dtype)
        values: NDArray[Any] = np.zeros(len(self.image), dtype)
        for (part, _), matrix in zip(self._parts, matrices, strict=True):
            if matrix is not None:
                values[part] = matrix.T.ravel()
        return values

    def summed(self, features: Sequence[Columns | None], weights: Mapping[str, float]) -> FloatMatrix:
        """Return (cells,) weighted sum of each document's features; 0 for a document whose features are None."""
        total = np.zeros(len(self.image), np.float32)
        names, chosen = None, np.zeros(0, np.float32)
        for (part, _), columns in zip(self._parts, features, strict=True):
            if columns is None:
                continue
            if columns.names is not names:  # the documents of a batch share one tuple of names
                names = columns.names
                chosen = np.array([weights.get(name, 0.0) for name in names], np.float32)
            # Not ``@``: on some processors, BLAS rounds by where the cells stand in memory.
            total[part] = np.einsum("f,fc->c", chosen, columns.block.reshape(len(chosen), -1), optimize=False)
        return total


@dataclass(frozen=True, eq=False)
class Columns(Mapping[str, "FloatMatrix"]):
    """Features of a document with S sentences and V images: name to (S, V) float32.

    Attributes:
        names: Of the features, in the order of ``block``.
        block: (names, V, S) float32.
    """

    names: tuple[str, ...]
    block: NDArray[np.float32]

    @classmethod
    def of(cls, features: Mapping[str, FloatMatrix]) -> Columns:
        """Make columns from a dict of (S, V) matrices."""
        if isinstance(features, Columns):
            return features
        return cls(tuple(features), np.stack([matrix.T for matrix in features.values()]).astype(np.float32))

    def __getitem__(self, name: str) -> FloatMatrix:
        """Return the (S, V) feature of this name; a view, no copy."""
        try:
            return np.asarray(self.block[self.names.index(name)].T, np.float32)
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self.names)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.names)


def features_of_chosen(
    documents: Sequence[Document],
    chosen: Sequence[bool],
    compute: Callable[[Sequence[Document], Cells, Sequence[int]], Mapping[str, FloatMatrix]],
) -> list[Features]:
    """Return the features of each document; empty for a document that is not chosen, or has no sentences or no images.

    Args:
        compute: Function of the documents that are left, their cells and their numbers; name to (cells,).
    """
    features: list[Features] = [{} for _ in documents]
    numbers = [n for n, d in enumerate(documents) if chosen[n] and d.sentences and d.images]
    if numbers:
        batch = [documents[n] for n in numbers]
        cells = Cells.of(batch)
        for n, columns in zip(numbers, cells.columns(compute(batch, cells, numbers)), strict=True):
            features[n] = columns
    return features
