"""Layout evidence: where an image stands among the sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Document, FloatMatrix

_ENDS = re.compile(r"[.!?…:;,。！？]['\"”’»)\]]*$")
_HEADING_WORDS = 12


@dataclass(frozen=True, slots=True, eq=False)
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


def places(document: Document) -> Places:
    """Where the sentences and images stand; the document must have a layout and a sentence."""
    n = len(document.sentences)
    blocks = np.array([s.block for s in document.sentences], dtype=np.int64)
    rank = np.cumsum(np.diff(blocks, prepend=blocks[:1]) != 0)
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


def layout_features(document: Document) -> dict[str, FloatMatrix]:
    """Features of the place of every sentence against every image; none where the document has no layout.

    Distances count sentences or blocks, 0 for the nearest, as log(1 + n); they are apart for sentences before and
    after the image, since images mostly follow what they show.

    Args:
        document: With S sentences and V images.

    Returns:
        Name to (S, V) float32, in 0 to about 9; an empty dict where ``has_layout`` is False or a side is empty.
    """
    if not (document.has_layout and document.sentences and document.images):
        return {}
    place = places(document)
    row = np.arange(len(place.rank))[:, None]
    rank = place.rank[:, None]
    before = row < place.position
    up, down = place.above - rank, rank - place.below  # blocks, 0 for the adjacent one

    headings = np.array([looks_like_heading(document, i) for i in range(len(document.sentences))], dtype=np.bool_)
    section = np.cumsum(headings)
    here = np.where(place.position > 0, section[place.position - 1], 0)
    opens = np.diff(place.rank, prepend=-1) != 0
    closes = np.diff(place.rank, append=place.rank[-1] + 1) != 0

    columns = {
        "layout.inside": place.inside,
        "layout.above": before & (up == 0) & ~place.inside,
        "layout.below": ~before & (down == 0) & ~place.inside,
        "layout.last": row == place.position - 1,
        "layout.next": row == place.position,
        "layout.before": np.log1p(np.where(before, place.position - 1 - row, 0)),
        "layout.after": np.log1p(np.where(before, 0, row - place.position)),
        "layout.blocks_before": np.log1p(np.where(before, np.maximum(up, 0), 0)),
        "layout.blocks_after": np.log1p(np.where(before, 0, np.maximum(down, 0))),
        "layout.behind": ~before,
        "layout.between": np.log1p(images_between(place)),
        "layout.section": section[:, None] == here,
        "layout.heading": np.broadcast_to(headings[:, None], before.shape),
        "layout.opens": np.broadcast_to(opens[:, None], before.shape),
        "layout.closes": np.broadcast_to(closes[:, None], before.shape),
    }
    return {name: np.ascontiguousarray(column, dtype=np.float32) for name, column in columns.items()}


def looks_like_heading(document: Document, index: int) -> bool:
    """Whether a sentence is a heading, or reads like one where the source does not say what its blocks are.

    That is: a short text alone in its block, with no mark at its end.
    """
    sentence = document.sentences[index]
    if sentence.kind != "paragraph":
        return sentence.heading
    neighbours = document.sentences[max(index - 1, 0) : index] + document.sentences[index + 1 : index + 2]
    return (
        all(other.block != sentence.block for other in neighbours)
        and len(sentence.text.split()) <= _HEADING_WORDS
        and not _ENDS.search(sentence.text)
    )
