"""Divides an epoch's training documents into windows, and makes their batches.

A corpus in arrays is one window. As many shards are opened together as their documents fill the buffer, in which
they are shuffled. The order follows from seed and epoch alone, so a run can continue at any step of an epoch, and every
process knows its own share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.train.batches import Batch, epoch_batches, planned_reads, read_ahead
from iconotext.train.parts import joined
from iconotext.train.prepare_shards import Place, chances, open_shard, own_vocabulary
from iconotext.train.prepared import NOT_HERE, SPLITS, UNDIVIDED, Prepared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.recipe import Recipe

TRAIN = SPLITS.index("train")

ORDER, WITHIN = 6, 7
"""Random streams: for the order of shards, and for the order of documents in a shard that is in several windows."""


class Piece(NamedTuple):
    """Training documents of a shard: a range of positions in the epoch's order of that shard."""

    shard: int
    begin: int
    end: int


class Window(NamedTuple):
    """A part of an epoch.

    number: From 0.
    pieces: The shards' documents in it; None for a corpus in arrays.
    steps: Number of batches of each process.
    """

    number: int
    pieces: tuple[Piece, ...] | None
    steps: int


class Windows:
    """The windows of a run.

    Args:
        prepared: From ``prepare``, of a corpus or of shards.
        recipe: Decides the size of windows and batches.
        ranks: Number of processes; each takes its own batches.
    """

    def __init__(self, prepared: Prepared, recipe: Recipe, *, ranks: int = 1) -> None:
        self._prepared, self._recipe, self._ranks = prepared, recipe, ranks
        self._shards: list[tuple[str, int, int]] | None = prepared.meta.get("shards")
        self._open: dict[int, Prepared] = {}
        self._vocabulary = None if self._shards is None else own_vocabulary(prepared, recipe)

    def plan(self, epoch: int) -> list[Window]:
        """The windows of an epoch, in order; reads no documents."""
        if self._shards is None:
            batches = epoch_batches(self._prepared, self._recipe, "train", epoch, ranks=self._ranks)
            return [Window(0, None, len(batches))]
        counts = np.array([count for *_, count in self._shards])
        total = int(counts.sum())
        windows = -(-total // self._recipe.training.buffer)
        order = np.arange(len(counts))
        if windows > 1:
            order = np.random.default_rng([self._recipe.seed, epoch, ORDER]).permutation(order)
        ends = np.cumsum(counts[order])
        planned = []
        for number in range(windows):
            begin, end = total * number // windows, total * (number + 1) // windows
            pieces = []
            for place in range(int(np.searchsorted(ends, begin, side="right")), len(order)):
                start = int(ends[place] - counts[order[place]])
                if start >= end:
                    break
                piece = Piece(int(order[place]), max(begin - start, 0), min(end, int(ends[place])) - start)
                pieces += [piece] * (piece.end > piece.begin)
            planned.append(Window(number, tuple(sorted(pieces)), self._steps(pieces)))
        return planned

    def _steps(self, pieces: list[Piece]) -> int:
        """The number of batches that ``epoch_batches`` makes of the pieces for each process."""
        assert self._shards is not None
        sizes: dict[int, int] = {}
        for piece in pieces:
            corpus = self._shards[piece.shard][1] if self._recipe.training.batches == "by-corpus" else 0
            sizes[corpus] = sizes.get(corpus, 0) + piece.end - piece.begin
        batches = sum(-(-size // self._recipe.training.batch) for size in sizes.values())
        return -(-batches // self._ranks)

    def open(self, window: Window, epoch: int) -> Prepared:
        """The documents of a window.

        Raises:
            CorpusError: A shard is damaged.
            StoreError: The store does not answer.
        """
        if window.pieces is None or self._shards is None:
            return self._prepared
        opened, splits, corpora = {}, [], []
        for piece in window.pieces:
            address, corpus, count = self._shards[piece.shard]
            part = self._open.get(piece.shard) or open_shard(address, self._vocabulary)
            documents = self._training_documents(part, corpus, piece.shard)
            if piece.end - piece.begin < count:
                rng = np.random.default_rng([self._recipe.seed, epoch, WITHIN, piece.shard])
                documents = rng.permutation(documents)[piece.begin : piece.end]
            own = np.full(len(part.ids), NOT_HERE, np.uint8)
            own[documents] = TRAIN
            opened[piece.shard] = part
            splits.append(own)
            corpora.append(corpus)
        self._open = opened  # a large shard may be in the next window, too
        return joined(list(opened.values()), splits=splits, corpora=corpora)

    def _training_documents(self, part: Prepared, corpus: int, shard: int) -> NDArray[np.int64]:
        found = part.splits == TRAIN
        undivided = np.flatnonzero(part.splits == UNDIVIDED)
        last = self._prepared.meta["last_drawn"]
        if last is None:
            found[undivided] = True
        else:
            drawn = Place(*last)
            found[undivided] = [place > drawn for place in chances(self._recipe, part, corpus, shard, undivided)]
        return np.flatnonzero(found)

    def batches(self, epoch: int, *, rank: int = 0, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch for one process, read ahead on threads.

        Args:
            start: Number of steps that are done already.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="iconotext-shards") as opener:
            reads = self._reads(opener, epoch, rank, start)
            yield from read_ahead(reads, readers=self._recipe.training.readers)

    def _reads(self, opener: ThreadPoolExecutor, epoch: int, rank: int, start: int) -> Iterator[Callable[[], Batch]]:
        """Functions that read the batches; the next window is opened meanwhile."""
        recipe, first, ahead = self._recipe, 0, []
        for window in self.plan(epoch):
            if first + window.steps > start:
                ahead.append((window, first))
            first += window.steps
        coming = opener.submit(self.open, ahead[0][0], epoch) if ahead else None
        for place, (window, first) in enumerate(ahead):
            assert coming is not None
            prepared = coming.result()
            if place + 1 < len(ahead):
                coming = opener.submit(self.open, ahead[place + 1][0], epoch)
            who = {"rank": rank, "ranks": self._ranks}
            planned = epoch_batches(prepared, recipe, "train", epoch, **who, window=window.number)
            begin = max(start - first, 0)
            chance = {"epoch": epoch, "rank": rank, "first": first}
            yield from planned_reads(prepared, recipe, planned, training=True, start=begin, **chance)
