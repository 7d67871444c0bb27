"""Layout evidence: the place of an image among the sentences, its distance and its section."""

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
    from iconotext.types import Document, FloatMatrix, Sentence

_ENDS = re.compile(r"[.!?…:;,。！？]['\"”’»)\]]*$")
_HEADING_WORDS = 12  # longest heading that the source does not mark
_STEP = re.compile(
    r"(?:steps?|schritt|étape|etapa|paso|passo|passaggio|stap|krok|adım|bước|шаг)\W{0,3}\d{1,3}\W{0,3}"
    r"|\d{1,3}\.\s?adım\W?|(?:步骤|步驟|手順|ステップ|단계)\s?\d{1,3}\W?|\d{1,3}\s?단계\W?",
    re.IGNORECASE,
)
"""A text that numbers the step below it and says nothing else: a heading, even where it is not marked."""


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
        title: (sentences,) bool, whether the source marks it as a heading, or it is no more than "Step 3".
        section: (sentences,) number of titles of the document up to and including the sentence.
    """

    cells: Cells
    position: Ints
    rank: Ints
    above: Ints
    below: Ints
    order: Ints
    inside: NDArray[np.bool_]
    title: NDArray[np.bool_]
    section: Ints

    @cached_property
    def row(self) -> Ints:
        """(cells,) number of the sentence in its document."""
        return self.cells.sentence - self.cells.first_sentence[self.cells.of_image][self.cells.image]

    @cached_property
    def opens(self) -> NDArray[np.bool_]:
        """(images,) whether the image opens a section: a title is right above it, or right below it at the top."""
        # The sentence above the image; at the top of a document, where none is, the first one.
        nearest = self.cells.first_sentence[self.cells.of_image] + np.maximum(self.position - 1, 0)
        return np.asarray(self.title[nearest] & (self.cells.image_sums(self.inside) == 0))

    @cached_property
    def own_section(self) -> NDArray[np.bool_]:
        """(cells,) whether the sentence is in the section that the image opens; False for images that open none."""
        first = self.cells.first_sentence[self.cells.of_image]
        opened = self.section[first + np.maximum(self.position - 1, 0)]
        same = self.section[self.cells.sentence] == opened[self.cells.image]
        return np.asarray(same & self.opens[self.cells.image])

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """(images,) whether the section that the image opens has no text."""
        text = self.own_section & ~self.title[self.cells.sentence]
        return np.asarray(self.opens & (self.cells.image_sums(text) == 0))

    @cached_property
    def numbers(self) -> Ints:
        """(cells,) index into ``PLACES``: where the image stands, seen from the sentence."""
        return np.where(self.opens[self.cells.image], self._opening, self._between)

    @cached_property
    def _opening(self) -> Ints:
        """(cells,) index into ``PLACES`` if the image opens a section."""
        image, title = self.cells.image, self.title[self.cells.sentence]
        position = self.position[image]
        top = position == 0  # its title is the first sentence below it
        paragraphs = self.rank[self.cells.sentence] - self.below[image] - top
        place = np.where(self.row == position + top, 0, 1 + np.clip(paragraphs, 0, 2))
        # At most two blocks above the title: a second title, and the paragraph before it.
        before = (self.row < position) & (self.above[image] - self.rank[self.cells.sentence] <= 2)
        apart = np.where(before, 5, 6)
        return OPENING + np.where(self.own_section, np.where(title, 4, place), apart)

    @cached_property
    def _between(self) -> Ints:
        """(cells,) index into ``PLACES`` if the image has text above it in its section."""
        image, rank = self.cells.image, self.rank[self.cells.sentence]
        position = self.position[image]
        below = self.row < position  # the image stands below the sentence
        between = np.where(below, self.above[image] - rank, rank - self.below[image])
        nearest = (self.row == position - 1) | (self.row == position)
        apart = np.where((between == 0) & nearest, 4, _APART[np.minimum(between, len(_APART) - 1)])
        # ``PLACES`` has pairs: even numbers for images below the sentence, odd ones for images above it.
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
    image_blocks = np.array([-1 if i.block is None else i.block for d in documents for i in d.images], dtype=np.int64)
    inside |= blocks[cells.sentence] == image_blocks[cells.image]
    order = np.empty(len(position), dtype=np.int64)
    order[np.lexsort((position, cells.of_image))] = np.arange(len(position)) - cells.first_image[cells.of_image]
    title = np.array([_is_title(sentence) for document in documents for sentence in document.sentences], np.bool_)
    return Places(cells, position, rank, above, below, order, inside, title, _sections(cells, title))


def _is_title(sentence: Sentence) -> bool:
    return sentence.heading or (sentence.kind != "caption" and _STEP.fullmatch(sentence.text) is not None)


def _sections(cells: Cells, titles: NDArray[np.bool_]) -> Ints:
    """Return (sentences,) number of titles of the document up to and including the sentence."""
    section = np.cumsum(titles)
    numbers: Ints = section - (section - titles)[cells.first_sentence][cells.of_sentence]
    return numbers


def images_between(place: Places) -> Ints:
    """Return (cells,) number of other images that stand between the sentence and the image."""
    cells = place.cells
    # Document and position in one number, so that one sorted array serves all documents.
    wide = int(max(place.position.max(initial=0), cells.sentences.max(initial=0))) + 1
    positions = np.sort(cells.of_image * wide + place.position)
    document = cells.of_image[cells.image]
    # images that stand before the sentence
    before: Ints = np.searchsorted(positions, document * wide + place.row, side="right") - cells.first_image[document]
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
    "opens its section, right above the sentence",
    "opens its section, above the paragraph",
    "opens its section, 2 paragraphs above",
    "opens its section, 3 or more paragraphs above",
    "opens the section of the heading",
    "opens the section after the paragraph",
    "opens another section",
)  # fmt: skip
"""The places where an image can stand, seen from a sentence.

An image that opens a section has places of its own: no text of its section stands above it, so it neither shows nor
follows the habit of images that stand below their text.
"""

OPENING = 20
"""Index into ``PLACES`` of the first place of images that open a section."""

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
        the two); ``section``, whether no heading is between them; ``heading``, whether the sentence is a heading, but
        not the heading of a section that holds nothing but the image.
    """
    cells, titles = place.cells, headings(documents)
    section = _sections(cells, titles)
    # At position 0 this reads a sentence of another document, which ``where`` replaces.
    before: Ints = section[cells.first_sentence[cells.of_image] + place.position - 1]
    image_section = np.where(place.position > 0, before, 0)
    columns = {
        "layout.habit": np.log(60 * habit + 1e-4),
        "layout.between": np.log1p(images_between(place)),
        "layout.section": (section[cells.sentence] == image_section[cells.image]) | place.own_section,
        "layout.heading": titles[cells.sentence] & ~(place.own_section & place.alone[cells.image]),
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

    Where the source does not mark it, a heading is a short text alone in its block, without punctuation at its end, or
    no more than "Step 3".
    """
    marks: list[bool] = []
    for document in documents:
        blocks = [object(), *(sentence.block for sentence in document.sentences), object()]  # the ends equal no block
        for sentence, before, after in zip(document.sentences, blocks, blocks[2:], strict=False):
            alone = before != sentence.block != after
            marks.append(_is_title(sentence) or (alone and sentence.kind == "paragraph" and _is_short(sentence.text)))
    return np.array(marks, np.bool_)


def _is_short(text: str) -> bool:
    """Return whether a paragraph is short, and without punctuation at its end, like a heading."""
    return not _ENDS.search(text) and len(text.split()) <= _HEADING_WORDS
