"""The competition of images with decoys: it sets the score that an image of a collection needs in order to be kept.

``DecoyPool`` draws the decoys, and ``Competition`` collects the scores and computes the thresholds (``thresholds``).

A foreign image (one of another document) wins against its decoy as often as it loses. So the decoys that win above a
threshold tell how many images win there by chance. Collections differ: where chapters are alike, foreign images score
higher than own images do elsewhere. So each collection has its own threshold, and all are raised together:

    while (1 + decoys that won) / images that won, over all remaining images, is above ``max_false``:
        drop the image with the smallest score from the collection where decoys have won most often lately

The score of a pair is the larger one of image and decoy. "Lately" is an exponential moving average over the dropped
pairs: it starts at one half, and each dropped pair has a weight of one tenth, or more in a small collection. So the
order in which images are dropped depends only on the winners of dropped pairs, never on those of remaining pairs. A
remaining foreign image is therefore still as likely to have won as to have lost, and the expected share of foreign
images among all kept ones, over all collections together, is at most ``max_false``: see Lei and Fithian 2018 (arXiv
1609.06035), and Ren and Candès 2023 (arXiv 2001.07835). Nothing is promised for a single collection.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from iconotext.evidence.caption import texts_of
from iconotext.evidence.habit import collection_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Document, Image

MEMORY = 10
"""Length of the moving average, in steps. Collections with fewer images than this share one threshold."""

STEPS = 200
"""A collection's images are dropped in at most this many steps: one by one if it has no more images than this."""

BATCH_KEYS = 1_000_000
"""Images that are read from the temporary file at a time."""

NEVER = 1 << 32
"""A threshold that no score reaches."""


class DecoyThresholds(NamedTuple):
    """The thresholds of the collections.

    Attributes:
        scores: Collection to smallest score, as a number from ``ordered``; None stands for all other collections.
        tested: Number of images that compete.
        kept: Number of images that win and reach their threshold.
    """

    scores: dict[str | None, int]
    tested: int
    kept: int

    @property
    def collections(self) -> int:
        """Number of collections with a threshold of their own."""
        return len(self.scores) - 1

    def passed(
        self, collections: Sequence[str | None], own: NDArray[np.float64], decoy: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return (n,) whether each image is kept; arguments as in ``Competition.add``."""
        needed = [self.scores.get(name, self.scores[None]) for name in collections]
        kept: NDArray[np.bool_] = (own > decoy) & (ordered(own) >= np.array(needed, np.uint64))
        return kept


class _Step(NamedTuple):
    order: tuple[float, int, int]  # share of decoys that won lately, negated; number of the collection; place in it
    begin: int
    end: int
    lost: int


class Competition:
    """Any number of images and their decoys, with 8 bytes for each pair in a temporary file."""

    def __init__(self) -> None:
        """Open the temporary file."""
        self._file = TemporaryFile(prefix="iconotext-")  # noqa: SIM115  # closed with this
        self._numbers: dict[str | None, int] = {}
        self._sizes = Counter[str | None]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, collections: Sequence[str | None], own: NDArray[np.float64], decoy: NDArray[np.float64]) -> None:
        """Add n images.

        Args:
            collections: (n,) collection of both image and decoy; None if the decoy is from another one.
            own: (n,) scores of the images.
            decoy: (n,) scores of their decoys. With equal scores the decoy wins.
        """
        self._sizes.update(collections)
        numbers = np.array([self._numbers.setdefault(name, len(self._numbers)) for name in collections], np.uint64)
        self._file.write((numbers << 33 | ordered(np.maximum(own, decoy)) << 1 | (own <= decoy)).tobytes())

    def thresholds(self, max_false: float) -> DecoyThresholds:
        """The thresholds at which the expected share of foreign images among those kept is at most ``max_false``.

        Images of a collection with the same score are kept or dropped together.
        """
        names = [None, *sorted(name for name, size in self._sizes.items() if name is not None and size >= MEMORY)]
        keys = self._sorted({name: number for number, name in enumerate(names)})
        *places, end = np.searchsorted(keys, np.arange(len(names) + 1, dtype=np.uint64) << 33).tolist()
        ends = [*places[1:], end]  # a collection's remaining images are between its place and its end
        steps = sorted(step for n, end in enumerate(ends) for step in _steps(keys, n, places[n], end))
        lost = sum(step.lost for step in steps)
        won = len(keys) - lost
        for step in steps:
            if 1 + lost - step.lost <= max_false * won + 1e-12:  # else no threshold within this step is enough
                step_keys = keys[step.begin : step.end]
                decoy_won = (step_keys & 1).astype(np.int64)
                dropped = np.cumsum(decoy_won) - decoy_won  # decoys that won, before each
                left = won - np.arange(len(step_keys)) + dropped
                alike = np.append(False, step_keys[1:] >> 1 == step_keys[:-1] >> 1)
                good = np.flatnonzero((1 + lost - dropped <= max_false * left + 1e-12) & ~alike)
                if len(good):
                    places[step.order[1]] = step.begin + int(good[0])
                    least = [
                        int(keys[at] >> 1) % NEVER if at < end else NEVER for at, end in zip(places, ends, strict=True)
                    ]
                    return DecoyThresholds(dict(zip(names, least, strict=True)), len(keys), int(left[good[0]]))
            places[step.order[1]] = step.end
            lost, won = lost - step.lost, won - (step.end - step.begin - step.lost)
        return DecoyThresholds(dict.fromkeys(names, NEVER), len(keys), 0)

    def _sorted(self, ranks: Mapping[str | None, int]) -> NDArray[np.uint64]:
        """Return a sorted number for each image, with bits for the rank of its collection, its score, and who won."""
        self._file.flush()
        if not self._file.tell():
            return np.empty(0, np.uint64)
        keys = np.memmap(self._file, np.uint64, "r+")
        rank = np.array([ranks.get(name, 0) for name in self._numbers], np.uint64)
        for begin in range(0, len(keys), BATCH_KEYS):
            batch = keys[begin : begin + BATCH_KEYS]
            batch[:] = rank[batch >> 33] << 33 | batch & (1 << 33) - 1
        keys.sort()
        return keys


def _steps(keys: NDArray[np.uint64], collection: int, begin: int, end: int) -> Iterator[_Step]:
    late = level = 0.5
    memory = min(MEMORY, 1 + (end - begin) / 5)
    part = max(1, math.ceil((end - begin) / STEPS))
    while begin < end:
        until = int(np.searchsorted(keys, keys[min(begin + part, end) - 1] | 1, side="right"))  # with all equal scores
        lost = int((keys[begin:until] & 1).sum())
        yield _Step((-level, collection, begin), begin, until, lost)
        late += (lost / (until - begin) - late) / memory
        level, begin = min(level, late), until


def ordered(scores: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return (n,) integers below 2**32 with the same order as the scores, rounded to float32."""
    bits = (scores.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)  # + 0 turns -0.0 into 0.0
    return np.where(bits >> 31, bits ^ 0xFFFFFFFF, bits | 0x80000000)


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
        """Yield document id, collection, number in the document, and image of each decoy; smallest digest first."""
        for decoy in sorted(self._heap, reverse=True):
            yield decoy.document, decoy.collection, decoy.number, decoy.image

    def with_decoys(self, document: Document) -> tuple[Document, dict[int, tuple[int, str | None]]]:
        """Append a decoy to the document's images for each image that can have one; do not use layout with the result.

        Returns:
            The document; and image number to (number of its decoy, collection of both). An image has no decoy if it has
            a problem, or if the pool has no more images of other documents with the same kinds of words. The decoy is
            from another collection, and the second value None, if the pool never had a suitable one from the same.
        """
        identities, collection = {_identity(image) for image in document.images}, collection_of(document)
        decoys = sorted(decoy for decoy in self._heap if decoy.document != document.id)
        # Images of other collections are too easy to beat: at 10 % wanted, 17.6 % of the kept images were foreign.
        same_collection = {decoy.words for decoy in decoys if decoy.collection == collection}
        images, pairs = list(document.images), dict[int, tuple[int, str | None]]()
        for number, image in enumerate(document.images):
            words = _words(image)
            pair_collection = collection if words in same_collection else None
            suitable = [
                n
                for n, decoy in enumerate(decoys)
                if decoy.words == words
                and pair_collection in (None, decoy.collection)
                and _identity(decoy.image) not in identities
            ]
            if image.problem is not None or not suitable:
                continue
            rng = np.random.default_rng(digest_of(document.id, number))
            drawn = decoys.pop(suitable[rng.integers(len(suitable))]).image
            identities.add(_identity(drawn))
            pairs[number] = len(images), pair_collection
            images.append(replace(drawn, position=image.position, block=image.block))
        return replace(document, images=tuple(images)), pairs


def _words(image: Image) -> frozenset[str]:
    """Return the kinds of texts that an image has: caption, alternative text, file name, or substitutes."""
    return frozenset(texts_of(image))


def _identity(image: Image) -> tuple[object, ...]:
    """Return a key that is equal for copies of one image, such as a logo that is in every document."""
    return image.caption, image.alt, image.source


def digest_of(document: str, number: int) -> int:
    """64-bit hash of document id and image number; decides which images enter the pool."""
    text = f"{document}\0{number}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())
