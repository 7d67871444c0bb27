"""The competition of images with their decoys: how well an image must score in its collection to be kept.

An image that belongs to another document wins against its decoy as often as it loses. So above a threshold the decoys
that won tell how many images won by chance. Collections differ: where chapters are alike, foreign images score more
than own ones do elsewhere. Therefore each has a threshold of its own, and all are raised together, image by image:

    until (1 + decoys that won) / images that won, of all that are left in all collections, is at most what is promised,
    leave out the image with the smallest score of the collection where, of late, decoys have won most often

Of an image the larger one of its score and its decoy's counts. "Of late" is a mean that forgets: it begins with a half,
and each image that is left out counts one tenth of it, or more where the collection is small. Where the next one is
left out thus depends on who won among those that are out already, and never on who won among those that are left. So
any foreign image that is left has still won as often as lost, and the share of foreign images among all that are kept,
of all collections together, is at most what is promised, in the mean over runs: see Lei and Fithian 2018
(arXiv 1609.06035), and Ren and Candès 2023 (arXiv 2001.07835). It is not promised of each collection.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEMORY = 10
"""Images, or steps, that the share of decoys that won of late is of, at most. Collections with fewer images share one
threshold."""

STEPS = 200
"""Parts in which the images of a collection are left out: single ones, where it does not have more."""

AT_ONCE = 1_000_000
"""Images that are looked at together."""

NEVER = 1 << 32
"""A bar that no score reaches."""


class Bars(NamedTuple):
    """What images need to be kept.

    Attributes:
        scores: Collection to the smallest score, as ``ordered`` has it; that of None is for all that are not named.
        tested: How many images compete.
        kept: How many of them win and reach their bar.
    """

    scores: dict[str | None, int]
    tested: int
    kept: int

    @property
    def collections(self) -> int:
        """How many have a threshold of their own."""
        return len(self.scores) - 1

    def passed(
        self, collections: Sequence[str | None], own: NDArray[np.float64], decoy: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """(n,) whether each image is kept; arguments as in ``Competition.add``."""
        needed = [self.scores.get(name, self.scores[None]) for name in collections]
        kept: NDArray[np.bool_] = (own > decoy) & (ordered(own) >= np.array(needed, np.uint64))
        return kept


class _Step(NamedTuple):
    order: tuple[float, int, int]  # share of decoys that won of late, negated; number of the collection; place in it
    begin: int
    end: int
    lost: int


class Competition:
    """Images and their decoys, of any number: 8 bytes of each lie in a temporary file."""

    def __init__(self) -> None:
        self._file = TemporaryFile(prefix="iconotext-")  # noqa: SIM115  # closed with this
        self._numbers: dict[str | None, int] = {}
        self._sizes = Counter[str | None]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, collections: Sequence[str | None], own: NDArray[np.float64], decoy: NDArray[np.float64]) -> None:
        """Let images compete.

        Args:
            collections: (n,) those that image and decoy are of; None where the decoy is of another one.
            own: (n,) scores of the images.
            decoy: (n,) those of their decoys. Where both score the same, the decoy has won.
        """
        self._sizes.update(collections)
        numbers = np.array([self._numbers.setdefault(name, len(self._numbers)) for name in collections], np.uint64)
        self._file.write((numbers << 33 | ordered(np.maximum(own, decoy)) << 1 | (own <= decoy)).tobytes())

    def bars(self, max_false: float) -> Bars:
        """What is needed so that of the images that are kept a share of at most ``max_false`` is foreign.

        Images of a collection with the same score are kept or left out together.
        """
        names = [None, *sorted(name for name, size in self._sizes.items() if name is not None and size >= MEMORY)]
        keys = self._sorted({name: number for number, name in enumerate(names)})
        *places, end = np.searchsorted(keys, np.arange(len(names) + 1, dtype=np.uint64) << 33).tolist()
        ends = [*places[1:], end]  # from its place to its end a collection's images are left
        steps = sorted(step for n, end in enumerate(ends) for step in _steps(keys, n, places[n], end))
        lost = sum(step.lost for step in steps)
        won = len(keys) - lost
        for step in steps:
            if 1 + lost - step.lost <= max_false * won + 1e-12:  # else nowhere within this step
                some = keys[step.begin : step.end]
                gone = np.cumsum(some & 1, dtype=np.int64) - (some & 1).astype(np.int64)  # decoys that won, before each
                left = won - np.arange(len(some)) + gone
                alike = np.append(False, some[1:] >> 1 == some[:-1] >> 1)
                good = np.flatnonzero((1 + lost - gone <= max_false * left + 1e-12) & ~alike)
                if len(good):
                    places[step.order[1]] = step.begin + int(good[0])
                    least = [
                        int(keys[at] >> 1) % NEVER if at < end else NEVER for at, end in zip(places, ends, strict=True)
                    ]
                    return Bars(dict(zip(names, least, strict=True)), len(keys), int(left[good[0]]))
            places[step.order[1]] = step.end
            lost, won = lost - step.lost, won - (step.end - step.begin - step.lost)
        return Bars(dict.fromkeys(names, NEVER), len(keys), 0)

    def _sorted(self, ranks: Mapping[str | None, int]) -> NDArray[np.uint64]:
        """A number for each image, ascending: rank of its collection, then its score, then who won."""
        self._file.flush()
        if not self._file.tell():
            return np.empty(0, np.uint64)
        keys = np.memmap(self._file, np.uint64, "r+")
        rank = np.array([ranks.get(name, 0) for name in self._numbers], np.uint64)
        for begin in range(0, len(keys), AT_ONCE):
            some = keys[begin : begin + AT_ONCE]
            some[:] = rank[some >> 33] << 33 | some & (1 << 33) - 1
        keys.sort()
        return keys


def _steps(keys: NDArray[np.uint64], collection: int, begin: int, end: int) -> Iterator[_Step]:
    """The images of a collection in the order in which they are left out, and when."""
    late = level = 0.5
    memory = min(MEMORY, 1 + (end - begin) / 5)
    part = max(1, math.ceil((end - begin) / STEPS))
    while begin < end:
        until = int(np.searchsorted(keys, keys[min(begin + part, end) - 1] | 1, side="right"))  # none alike is left
        lost = int((keys[begin:until] & 1).sum())
        yield _Step((-level, collection, begin), begin, until, lost)
        late += (lost / (until - begin) - late) / memory
        level, begin = min(level, late), until


def ordered(scores: NDArray[np.float64]) -> NDArray[np.uint64]:
    """(n,) whole numbers below 2 to the power of 32, in the order of the scores as float32 numbers."""
    bits = (scores.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)  # and of -0.0 that of 0.0
    return np.where(bits >> 31, bits ^ 0xFFFFFFFF, bits | 0x80000000)
