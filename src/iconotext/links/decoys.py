"""Decoys: images of other documents, drawn beforehand, that compete with a document's own.

An image that does not belong to its document is to its sentences what its decoy is: either of the two wins by chance.
So a caption travels with its image, decoy and image have the same kinds of words, and both stand in the document when
it is scored; nothing but their place tells them apart, and the place must not be looked at.
"""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.links.caption import texts_of

if TYPE_CHECKING:
    from iconotext.types import Document, Image

POOL = 500
"""Images that decoys are drawn from, however many documents there are."""


class DecoyPool:
    """Images of documents: those with the smallest digests, so that the order in which they come does not matter."""

    def __init__(self, size: int = POOL) -> None:
        self._size = size
        self._heap: list[tuple[int, str, int, Image]] = []  # the negated digest first: the largest is thrown out

    def add(self, document: Document) -> None:
        """Let the images of a document take part."""
        for number, image in enumerate(document.images):
            if image.problem is None:
                heapq.heappush(self._heap, (-_digest(document.id, number), document.id, number, image))
                if len(self._heap) > self._size:
                    heapq.heappop(self._heap)

    def with_decoys(self, document: Document) -> tuple[Document, dict[int, int]]:
        """The document with a decoy behind its own images for each that can have one; layout must not be looked at.

        Returns:
            The document, and the number of each image to that of its decoy. An image has none if it has a problem, or
            if no image of another document with the same kinds of words is left.
        """
        seen = {_looks(image) for image in document.images}
        left = [entry for entry in sorted(self._heap)[::-1] if entry[1] != document.id]
        images, pairs = list(document.images), {}
        for number, image in enumerate(document.images):
            fitting = [n for n, entry in enumerate(left) if texts_of(entry[3]).keys() == texts_of(image).keys()]
            fitting = [n for n in fitting if _looks(left[n][3]) not in seen]
            if image.problem is not None or not fitting:
                continue
            rng = np.random.default_rng(_digest(document.id, number))
            decoy = left.pop(fitting[rng.integers(len(fitting))])[3]
            seen.add(_looks(decoy))
            pairs[number] = len(images)
            images.append(replace(decoy, position=image.position, block=image.block))
        return replace(document, images=tuple(images)), pairs


def _looks(image: Image) -> tuple[object, ...]:
    """Equal for two images that nobody could tell apart: a logo that stands in every document."""
    return image.caption, image.alt, image.source


def _digest(document: str, number: int) -> int:
    text = f"{document}\0{number}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
