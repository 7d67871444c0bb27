"""Decoys: images of other documents that compete with a document's own images for its sentences.

If an image does not belong to its document, its decoy fits the sentences equally well, and chance decides which of the
two scores higher. To ensure this, a decoy brings its caption along, has the same kinds of words as the image, and is
scored in the same document. Only their places differ, so layout must not count. Decoys come from the document's own
collection if possible: a misplaced image is mostly from the same book or site, and fits better than one from elsewhere.
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
"""Number of images that decoys are drawn from, however many documents there are."""


class _Decoy(NamedTuple):
    rank: int  # the negated digest, since a heap drops its smallest entry
    document: str
    number: int
    order: int  # in which images were added; differs, so that fields after it are never compared
    words: frozenset[str]
    collection: str
    image: Image


class DecoyPool:
    """A sample of images: those with the smallest digests, so that the order of adding them does not matter."""

    def __init__(self, size: int = POOL) -> None:
        self._size = size
        self._heap: list[_Decoy] = []
        self._seen = 0

    def add(self, document: Document, keep: Callable[[Image], Image] = lambda image: image) -> None:
        """Add the images of a document; document ids must be unique.

        Args:
            keep: Applied to each image that enters the pool, even if a later one pushes it out.
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
        """Add one image of a document of a collection; ``keep`` as in ``add``."""
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
        """For each image in the pool: document id, collection, number in the document, image; smallest digest first."""
        for decoy in sorted(self._heap, reverse=True):
            yield decoy.document, decoy.collection, decoy.number, decoy.image

    def with_decoys(self, document: Document) -> tuple[Document, dict[int, tuple[int, str | None]]]:
        """Append a decoy to the document's images for each image that can have one; layout must not be used with it.

        Returns:
            The document; and image number to (number of its decoy, collection of both). An image has no decoy if it has
            a problem, or if the pool has no more images of other documents with the same kinds of words. The decoy is
            from another collection, and the second value None, if the pool never had a suitable one from the same.
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
    """Which texts an image has, of caption, alt text and what stands for a caption."""
    return frozenset(texts_of(image))


def _looks(image: Image) -> tuple[object, ...]:
    """Equal for copies of one image, such as a logo that is in every document."""
    return image.caption, image.alt, image.source


def digest_of(document: str, number: int) -> int:
    """64-bit hash of document id and image number; decides which images enter the pool."""
    text = f"{document}\0{number}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
