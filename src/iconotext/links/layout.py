"""Layout evidence: where an image stands among the sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Document, FloatMatrix

_ENDS = re.compile(r"[.!?…:;,。！？]['\"”’»)\]]*$")
_HEADING_WORDS = 12


@dataclass(frozen=True, eq=False)
class Places:
    """Where sentences and images of a document stand, as arrays. S sentences, V images.

    Attributes:
        position: (V,) int, number of sentences before each image.
        rank: (S,) int, text blocks counted from 0, without those that hold only images.
        above: (V,) int, rank of the last text block before the image, -1 for none.
        below: (V,) int, rank of the first text block after the image. Equal to ``above`` inside a block.
        order: (V,) int, place of each image among the images in reading order.
        inside: (S, V) bool, sentence and image stand in the same block.
    """

    position: NDArray[np.int64]
    rank: NDArray[np.int64]
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    order: NDArray[np.int64]
    inside: NDArray[np.bool_]

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """(S, V) number in ``PLACES`` of where each image stands, seen from each sentence."""
        row, rank = np.arange(len(self.rank))[:, None], self.rank[:, None]
        below = row < self.position  # the image stands below the sentence
        between = np.where(below, self.above - rank, rank - self.below)
        nearest = (row == self.position - 1) | (row == self.position)
        apart = np.where((between == 0) & nearest, 4, _APART[np.minimum(between, len(_APART) - 1)])
        result: NDArray[np.int64] = np.where(self.inside, np.where(nearest, 0, 2), apart) + ~below
        return result


def places(document: Document) -> Places:
    """Where the sentences and images stand; the document must have a layout and a sentence."""
    n = len(document.sentences)
    blocks = np.array([s.block for s in document.sentences], dtype=np.int64)
    rank = block_ranks([document])
    position = np.array([i.position for i in document.images], dtype=np.int64)
    above = np.where(position > 0, rank[np.clip(position - 1, 0, n - 1)], -1)
    below = np.where(position < n, rank[np.clip(position, 0, n - 1)], rank[-1] + 1)
    # An image between two sentences of one block is inside it even where the source gives images no block.
    inside = (rank[:, None] == above) & (above == below)
    own = np.array([-1 if i.block is None else i.block for i in document.images], dtype=np.int64)
    inside |= blocks[:, None] == own
    order = np.empty(len(position), dtype=np.int64)
    order[np.argsort(position, kind="stable")] = np.arange(len(position))
    return Places(position, rank, above, below, order, inside)


def images_between(place: Places) -> NDArray[np.int64]:
    """(S, V) number of other images that stand between the sentence and the image."""
    row = np.arange(len(place.rank))[:, None]
    before = np.searchsorted(np.sort(place.position), row, side="right")  # images that stand before the sentence
    return np.maximum(np.where(row < place.position, place.order - before, before - place.order - 1), 0)


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
"""Where an image can stand, seen from a sentence."""

_FURTHER = np.array([0, 1, 2, 3, 5, 9, 17])  # blocks between, from which on the next pair of places begins
_APART = 4 + 2 * np.searchsorted(_FURTHER, np.arange(18), side="right")  # by the blocks between, from 17 on the last


def place_numbers(document: Document) -> NDArray[np.int64]:
    """(S, V) number in ``PLACES`` of where each image stands, seen from each sentence; the document has a layout."""
    return places(document).numbers


def layout_features(document: Document, habit: FloatMatrix, place: Places | None = None) -> dict[str, FloatMatrix]:
    """Features of the place of every sentence against every image.

    Args:
        document: With S sentences and V images, and a layout.
        habit: (S, V) the probability of each sentence by its place alone: see ``iconotext.links.habit``.
        place: What ``places`` gave for the document, where the caller has it; saves time.

    Returns:
        Name to (S, V) float32: ``habit`` the log of the probability, over that of one in sixty; ``between`` log(1 +
        number of other images between the two); ``section`` no heading stands between them; ``heading`` the sentence
        is one.
    """
    place = place or places(document)
    titles = headings([document])
    section = np.cumsum(titles)
    here = np.where(place.position > 0, section[place.position - 1], 0)
    columns = {
        "layout.habit": np.log(60 * habit + 1e-4),
        "layout.between": np.log1p(images_between(place)),
        "layout.section": section[:, None] == here,
        "layout.heading": np.broadcast_to(titles[:, None], habit.shape),
    }
    return {name: np.ascontiguousarray(column, dtype=np.float32) for name, column in columns.items()}


def block_ranks(documents: Sequence[Document]) -> NDArray[np.int64]:
    """Of each sentence the number of its block, counted from 0 without gaps in each of some documents.

    Without a layout each is its own.
    """
    found: list[int] = []
    for document in documents:
        rank, before = -1, None
        for number, sentence in enumerate(document.sentences):
            block = number if sentence.block is None else sentence.block
            if block != before or not number:
                rank += 1
            found.append(rank)
            before = block
    return np.array(found, np.int64)


def headings(documents: Sequence[Document]) -> NDArray[np.bool_]:
    """Of each sentence whether it is a heading, or reads like one where the source does not say what its blocks are.

    That is: a short text alone in its block, with no mark at its end.
    """
    found: list[bool] = []
    for document in documents:
        blocks = [None, *(sentence.block for sentence in document.sentences), None]
        last = len(document.sentences) - 1
        found += [
            sentence.heading
            if sentence.kind != "paragraph"
            else (i == 0 or blocks[i] != sentence.block)
            and (i == last or blocks[i + 2] != sentence.block)
            and not _ENDS.search(sentence.text)
            and len(sentence.text.split()) <= _HEADING_WORDS
            for i, sentence in enumerate(document.sentences)
        ]
    return np.array(found, np.bool_)
