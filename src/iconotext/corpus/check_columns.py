"""The columns of a whole corpus, put together from those of its parts."""

from __future__ import annotations

from array import array
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.check_part import PartSummary
from iconotext.corpus.row import Problem
from iconotext.corpus.texts import TextFile

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Columns:
    """What ``PartSummary`` has of each part, of all of them; texts are on disk. A row is a document that could be read.

    Args:
        stack: Closes the files.
        keep: Problems that are kept; more are only counted.

    Attributes:
        documents: Number of them, bad ones included.
        problems: Number of the document in the corpus, and what is wrong with it alone.
        problem_count: Of these, and of those that were not kept.
        no_images: Documents without images.
        no_sentences: Documents without sentences.
        ids: By row.
        places: By row.
        sources: By image.
        numbers: (rows,) int64, number of the document in the corpus. This and the next ones after ``complete``.
        splits: (rows,) uint8.
        pairs: (rows,) bool.
        id_digests: (rows,) uint64.
        source_digests: (images,) uint64.
        whereabouts: (images,) uint8.
        owner: (images,) int32, row of each image.
    """

    numbers: NDArray[np.int64]
    splits: NDArray[np.uint8]
    pairs: NDArray[np.bool_]
    id_digests: NDArray[np.uint64]
    source_digests: NDArray[np.uint64]
    whereabouts: NDArray[np.uint8]
    owner: NDArray[np.int32]

    def __init__(self, stack: ExitStack, *, keep: int) -> None:
        self._keep = keep
        self.documents = self.problem_count = self.no_images = self.no_sentences = 0
        self.problems: list[tuple[int, Problem]] = []
        self.ids, self.places, self.sources = (stack.enter_context(TextFile()) for _ in range(3))
        self._numbers, self._images = array("q"), array("q")
        self._splits, self._pairs, self._whereabouts = bytearray(), bytearray(), bytearray()

    def add(self, part: PartSummary) -> None:
        """The next part."""
        room = max(self._keep - len(self.problems), 0)
        self.problems += [(self.documents + number, problem) for number, problem in part.problems[:room]]
        self.problem_count += len(part.problems)
        self._numbers.extend(self.documents + number for number in part.numbers)
        self._images.extend(part.images)
        self._splits += part.splits
        self._pairs += part.pairs
        self._whereabouts += part.whereabouts
        self.ids.extend(part.ids)
        self.places.extend(part.places)
        self.sources.extend(part.sources)
        self.documents += part.documents
        self.no_images += part.no_images
        self.no_sentences += part.no_sentences

    def complete(self) -> None:
        """All parts were added."""
        self.numbers = np.frombuffer(self._numbers, np.int64)
        self.splits = np.frombuffer(self._splits, np.uint8)
        self.pairs = np.frombuffer(self._pairs, np.uint8).astype(bool)
        self.whereabouts = np.frombuffer(self._whereabouts, np.uint8)
        self.id_digests = np.frombuffer(self.ids.digests, np.uint64)
        self.source_digests = np.frombuffer(self.sources.digests, np.uint64)
        images = np.frombuffer(self._images, np.int64)
        self.owner = np.repeat(np.arange(len(images), dtype=np.int32), images)
        self._first = np.cumsum(images) - images

    def place_of_image(self, image: int) -> tuple[int, int]:
        """The row of an image, and its number there."""
        row = int(self.owner[image])
        return row, image - int(self._first[row])
