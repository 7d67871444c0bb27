"""Decoys: images of other documents, drawn beforehand, that compete with a document's own.

An image that does not belong to its document is to its sentences what its decoy is: either of the two wins by chance.
So a caption travels with its image, decoy and image have the same kinds of words, and both stand in the document when
it is scored; nothing but their place tells them apart, and the place must not be looked at. Decoys come from the
document's own collection where that has any: what stands in a wrong place mostly is of the same book or site, and fits
better than what is of another.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.links.caption import texts_of
from iconotext.links.habit import collection_of

if TYPE_CHECKING:
    from iconotext.types import Document, Image

POOL = 500
"""Images that decoys are drawn from, however many documents there are."""


class _Decoy(NamedTuple):
    rank: int  # the negated digest: of a heap the smallest entry is thrown out
    document: str
    number: int
    order: int  # where it came among all: two are never compared further
    words: frozenset[str]
    collection: str
    image: Image


class DecoyPool:
    """Images of documents: those with the smallest digests, so that the order in which they come does not matter."""

    def __init__(self, size: int = POOL) -> None:
        self._size = size
        self._heap: list[_Decoy] = []
        self._seen = 0

    def add(self, document: Document, keep: Callable[[Image], Image] = lambda image: image) -> None:
        """Let the images of a document take part; no other one may have its id.

        Args:
            keep: What becomes of an image that is kept, if only for a while.
        """
        for number, image in enumerate(document.images):
            if image.problem is None:
                self.add_image(document.id, collection_of(document), number, image, keep)

    def add_image(
        self,
        document: str,
        collection: str,
        number: int,
        image: Image,
        keep: Callable[[Image], Image] = lambda image: image,
    ) -> None:
        """Let one image of a document, which is of a collection, take part; arguments as in ``add``."""
        self._seen += 1
        rank = -digest_of(document, number)
        full = len(self._heap) == self._size
        if full and (rank, document, number, self._seen) < self._heap[0][:4]:
            return
        if full:
            heapq.heappop(self._heap)
        kept = keep(image)
        heapq.heappush(self._heap, _Decoy(rank, document, number, self._seen, _words(kept), collection, kept))

    def __iter__(self) -> Iterator[tuple[str, str, int, Image]]:
        """Document, its collection, number and image of all that are kept, the smallest digest first."""
        for decoy in sorted(self._heap, reverse=True):
            yield decoy.document, decoy.collection, decoy.number, decoy.image

    def with_decoys(self, document: Document) -> tuple[Document, dict[int, tuple[int, str | None]]]:
        """The document with a decoy behind its own images for each that can have one; layout must not be looked at.

        Returns:
            The document, and the number of each image to that of its decoy, and the collection of both. An image has no
            decoy if it has a problem, or if no image of another document with the same kinds of words is left. Where
            the pool had none of the document's collection to begin with, the decoy is of another one, and None says so.
        """
        seen, collection = {_looks(image) for image in document.images}, collection_of(document)
        left = sorted(decoy for decoy in self._heap if decoy.document != document.id)
        there = {decoy.words for decoy in left if decoy.collection == collection}
        images, pairs = list(document.images), dict[int, tuple[int, str | None]]()
        for number, image in enumerate(document.images):
            words = _words(image)
            of = collection if words in there else None
            fitting = [
                n
                for n, decoy in enumerate(left)
                if decoy.words == words and of in (None, decoy.collection) and _looks(decoy.image) not in seen
            ]
            if image.problem is not None or not fitting:
                continue
            rng = np.random.default_rng(digest_of(document.id, number))
            drawn = left.pop(fitting[rng.integers(len(fitting))]).image
            seen.add(_looks(drawn))
            pairs[number] = len(images), of
            images.append(replace(drawn, position=image.position, block=image.block))
        return replace(document, images=tuple(images)), pairs


def _words(image: Image) -> frozenset[str]:
    """The kinds of words that an image has."""
    return frozenset(texts_of(image))


def _looks(image: Image) -> tuple[object, ...]:
    """Equal for two images that nobody could tell apart: a logo that stands in every document."""
    return image.caption, image.alt, image.source


def digest_of(document: str, number: int) -> int:
    """What says whether an image is drawn: 64 bits that depend on its place alone."""
    text = f"{document}\0{number}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
