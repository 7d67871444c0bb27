"""Layout evidence: the place of an image among the sentences, its distance and its section.

``places`` finds where images and sentences stand, and ``layout_features`` computes the evidence from this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from iconotext.evidence.cells import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.cells import Ints
    from iconotext.types import Document, FloatMatrix

_ENDS = re.compile(r"[.!?…:;,。！？]['\"”’»)\]]*$")
_HEADING_WORDS = 12


@dataclass(frozen=True, eq=False)
class Places:
    """Where the sentences and images of documents stand; all numbers count from 0 in each document.

    Attributes:
        position: (images,) number of sentences before each image.
        rank: (sentences,) number of each sentence's text block; blocks without text are not counted.
        above: (images,) rank of the last text block before the image, -1 for none.
        below: (images,) rank of the first text block after the image. Equal to ``above`` inside a block.
        order: (images,) number of each image in reading order.
        inside: (cells,) bool, whether sentence and image are in the same block.
    """

    cells: Cells
    position: Ints
    rank: Ints
    above: Ints
    below: Ints
    order: Ints
    inside: NDArray[np.bool_]

    @cached_property
    def row(self) -> Ints:
        """(cells,) number of the sentence in its document."""
        return self.cells.sentence - self.cells.first_sentence[self.cells.of_image][self.cells.image]

    @cached_property
    def numbers(self) -> Ints:
        """(cells,) index into ``PLACES``: where the image stands, seen from the sentence."""
        image, rank = self.cells.image, self.rank[self.cells.sentence]
        position = self.position[image]
        below = self.row < position  # the image stands below the sentence
        between = np.where(below, self.above[image] - rank, rank - self.below[image])
        nearest = (self.row == position - 1) | (self.row == position)
        apart = np.where((between == 0) & nearest, 4, _APART[np.minimum(between, len(_APART) - 1)])
        result: Ints = np.where(self.inside, np.where(nearest, 0, 2), apart) + ~below
        return result


def places(documents: Sequence[Document]) -> Places:
    """Find where the sentences and images stand; every document must have a layout and at least one sentence."""
    cells = Cells.of(documents)
    blocks = np.array([s.block for d in documents for s in d.sentences], dtype=np.int64)
    rank = block_ranks(documents)
    position = np.array([i.position for d in documents for i in d.images], dtype=np.int64)
    first, size = cells.first_sentence[cells.of_image], cells.sentences[cells.of_image]
    above = np.where(position > 0, rank[first + np.clip(position - 1, 0, size - 1)], -1)
    below = np.where(position < size, rank[first + np.clip(position, 0, size - 1)], rank[first + size - 1] + 1)
    # An image between two sentences of one block is inside it, even if the source assigns images to no block.
    inside = (rank[cells.sentence] == above[cells.image]) & (above == below)[cells.image]
    own = np.array([-1 if i.block is None else i.block for d in documents for i in d.images], dtype=np.int64)
    inside |= blocks[cells.sentence] == own[cells.image]
    order = np.empty(len(position), dtype=np.int64)
    order[np.lexsort((position, cells.of_image))] = np.arange(len(position)) - cells.first_image[cells.of_image]
    return Places(cells, position, rank, above, below, order, inside)


def images_between(place: Places) -> Ints:
    """Return (cells,) number of other images that stand between the sentence and the image."""
    cells = place.cells
    wide = int(max(place.position.max(initial=0), cells.sentences.max(initial=0))) + 1
    stand = np.sort(cells.of_image * wide + place.position)
    of = cells.of_image[cells.image]
    # images that stand before the sentence
    before: Ints = np.searchsorted(stand, of * wide + place.row, side="right") - cells.first_image[of]
    order = place.order[cells.image]
    return np.maximum(np.where(place.row < place.position[cells.image], order - before, before - order - 1), 0)


PLACES = (
    "inside its paragraph, after the sentence next to it",
    "inside its paragraph, before the sentence next to it",
    "inside its paragraph, further below the sentence",
    "inside its paragraph, further above the sentence",
    "right below the sentence",
    "right above the sentence",
    "below the paragraph",
    "above the paragraph",
    *(f"{blocks} paragraphs {side}" for blocks in ("2", "3", "4 to 5", "6 to 9", "10 to 17", "18 or more")
      for side in ("below", "above")),
)  # fmt: skip
"""The places where an image can stand, seen from a sentence."""

_FURTHER = np.array([0, 1, 2, 3, 5, 9, 17])  # blocks between sentence and image at which the next places begin
_APART = 4 + 2 * np.searchsorted(_FURTHER, np.arange(18), side="right")  # from the number of blocks between, at most 17


def place_numbers(document: Document) -> Ints:
    """Return (S, V) index into ``PLACES``: where each image stands, seen from each sentence; needs a layout."""
    place = places([document])
    return place.cells.matrices(place.numbers)[0]


def layout_features(documents: Sequence[Document], place: Places, habit: FloatMatrix) -> dict[str, FloatMatrix]:
    """Compute features of the positions of image and sentence.

    Args:
        habit: (cells,) probability of each sentence by its place alone, from ``habit_probability``.

    Returns:
        Name to (cells,) float32: ``habit``, log(60 * probability); ``between``, log(1 + number of other images between
        the two); ``section``, whether no heading is between them; ``heading``, whether the sentence is a heading.
    """
    cells, titles = place.cells, headings(documents)
    section = np.cumsum(titles)
    section = section - (section - titles)[cells.first_sentence][cells.of_sentence]
    before: Ints = section[cells.first_sentence[cells.of_image] + place.position - 1]
    here = np.where(place.position > 0, before, 0)
    columns = {
        "layout.habit": np.log(60 * habit + 1e-4),
        "layout.between": np.log1p(images_between(place)),
        "layout.section": section[cells.sentence] == here[cells.image],
        "layout.heading": titles[cells.sentence],
    }
    return {name: column.astype(np.float32) for name, column in columns.items()}


def block_ranks(documents: Sequence[Document]) -> Ints:
    """Return (sentences,) number of each sentence's block, from 0 without gaps in each document.

    Without a layout every sentence is a block of its own.
    """
    ranks: list[int] = []
    for document in documents:
        rank, before = -1, None
        for number, sentence in enumerate(document.sentences):
            block = number if sentence.block is None else sentence.block
            if block != before or not number:
                rank += 1
            ranks.append(rank)
            before = block
    return np.array(ranks, np.int64)


def headings(documents: Sequence[Document]) -> NDArray[np.bool_]:
    """Return (sentences,) whether each sentence is a heading.

    Where the source does not mark headings, a heading is a short text alone in its block, without punctuation at its
    end.
    """
    marks: list[bool] = []
    for document in documents:
        blocks = [None, *(sentence.block for sentence in document.sentences), None]
        last = len(document.sentences) - 1
        marks += [
            sentence.heading
            if sentence.kind != "paragraph"
            else (i == 0 or blocks[i] != sentence.block)
            and (i == last or blocks[i + 2] != sentence.block)
            and not _ENDS.search(sentence.text)
            and len(sentence.text.split()) <= _HEADING_WORDS
            for i, sentence in enumerate(document.sentences)
        ]
    return np.array(marks, np.bool_)
