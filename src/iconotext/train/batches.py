"""Batches of training documents: their plan, and reading them ahead of the training loop.

``epoch_batches`` chooses the documents of each batch, ``load_batch`` reads a ``Batch``, ``Windows`` does both for a
run. A batch depends only on seed, epoch and step, not on earlier batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iconotext.networks.transformer import RegionBatch
from iconotext.objectives import draw_single_pairs
from iconotext.recipe import Recipe
from iconotext.recipe.encoders import TowerSettings
from iconotext.train.feature_shards import Place, chances, open_shard, own_vocabulary
from iconotext.train.prepared import (
    NOT_HERE,
    SPLITS,
    UNDIVIDED,
    Prepared,
    drawn_places,
    joined,
    labelled_documents,
    labelled_pairs,
    learned_relations,
    span_counts,
    span_places,
)

TRAIN = SPLITS.index("train")

ORDER, WITHIN = 6, 7
"""Random streams: one for the order of shards, one for the order of documents in a shard that is in several windows."""


class Piece(NamedTuple):
    """Training documents of a shard: a range of positions in the epoch's order of that shard."""

    shard: int
    begin: int
    end: int


class Window(NamedTuple):
    """A part of an epoch whose documents are open at the same time.

    Attributes:
        number: Number of the window, from 0.
        pieces: The shards' documents in it; None for a corpus in arrays.
        steps: Number of batches of each process.
    """

    number: int
    pieces: tuple[Piece, ...] | None
    steps: int


class Windows:
    """The windows of a run.

    Args:
        prepared: The result of ``prepare`` or ``prepare_shards``.
        recipe: Decides the size of windows and batches.
        ranks: Number of processes; each takes its own batches.
    """

    def __init__(self, prepared: Prepared, recipe: Recipe, *, ranks: int = 1) -> None:
        self._prepared, self._recipe, self._ranks = prepared, recipe, ranks
        self._shards: list[tuple[str, int, int]] | None = prepared.meta.get("shards")
        self._open: dict[int, Prepared] = {}
        self._vocabulary = None if self._shards is None else own_vocabulary(prepared, recipe)

    def plan(self, epoch: int) -> list[Window]:
        """Return the windows of an epoch, in order; no documents are read."""
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
        """Count the batches that ``epoch_batches`` makes of the pieces for each process."""
        assert self._shards is not None
        sizes: dict[int, int] = {}
        for piece in pieces:
            corpus = self._shards[piece.shard][1] if self._recipe.training.batches == "by-corpus" else 0
            sizes[corpus] = sizes.get(corpus, 0) + piece.end - piece.begin
        batches = sum(-(-size // self._recipe.training.batch) for size in sizes.values())
        return -(-batches // self._ranks)

    def open(self, window: Window, epoch: int) -> Prepared:
        """Open the documents of a window.

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
        """Yield the batches of an epoch for one process, read ahead on threads.

        Args:
            epoch: Number of the epoch, from 0.
            rank: Number of the process.
            start: Number of steps that are done already.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="iconotext-shards") as opener:
            reads = self._reads(opener, epoch, rank, start)
            yield from read_ahead(reads, readers=self._recipe.training.readers)

    def _reads(self, opener: ThreadPoolExecutor, epoch: int, rank: int, start: int) -> Iterator[Callable[[], Batch]]:
        """Yield functions that read the batches; the next window is opened meanwhile."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A batch of D documents. The first P are positives, compared with themselves; all are negatives for others.

    With labelled pairs, D and P count pairs, each of one sentence and one image, instead of documents.

    Attributes:
        documents: Numbers of the documents.
        positives: P.
        sentence_counts: (D,) number of sentences used of each document.
        image_counts: (D,) number of images used of each document.
        sentences: (N, features) vectors; None if sentences are words.
        words: (T,) word ids; None if sentences are vectors.
        lengths: (N,) number of words of each sentence; None if sentences are vectors.
        images: (M, features) vectors, (M, 224, 224, 3) or (M, 3, h, w) pixels, or regions.
        relations: (P, R) labels of the positives' coherence relations, 1, 0 or NaN; None if not used.
        relation_weights: (R,) weight of each relation; None without labels.
        posteriors: For each positive, one after the other, the probabilities of its sentences and images by other
            evidence, row by row; None if no objective uses them.
        strangers: (D, D) bool, whether two documents share no image, including images that are not used; only strangers
            are negatives for each other. Labelled pairs of one document are strangers if they are not linked crosswise.
    """

    documents: NDArray[np.int64]
    positives: int
    sentence_counts: list[int]
    image_counts: list[int]
    sentences: Tensor | None
    words: Tensor | None
    lengths: Tensor | None
    images: Tensor | RegionBatch
    strangers: Tensor
    relations: Tensor | None = None
    relation_weights: Tensor | None = None
    posteriors: Tensor | None = None

    def to(self, device: torch.device) -> Batch:
        """Move the tensors of the batch to a device."""
        moved = {
            name: None if (here := getattr(self, name)) is None else here.to(device, non_blocking=True)
            for name in (
                *("sentences", "words", "lengths", "images", "strangers", "relations", "relation_weights"),
                "posteriors",
            )
        }
        counts = (self.documents, self.positives, self.sentence_counts, self.image_counts)
        return Batch(*counts, **moved)  # type: ignore[arg-type]  # types are by name, mypy cannot see which may be None


def epoch_batches(
    prepared: Prepared, recipe: Recipe, split: str, epoch: int, *, rank: int = 0, ranks: int = 1, window: int = 0
) -> list[tuple[NDArray[np.int64], int]]:
    """Choose the documents of each batch of an epoch, and the number of positives among them.

    Training documents come in a new order each epoch, validation documents always in the same one. Batches are as even
    as possible, with at most ``training.batch`` positives each. If a batch needs more negatives than it has, the next
    documents in the order follow the positives: of the same corpus, if batches are of one corpus, while there are any.

    Args:
        prepared: The documents.
        recipe: Decides the size of batches.
        split: Name of the split.
        epoch: Number of the epoch, from 0.
        rank: Number of the calling process; each process gets its own batches, equally many.
        ranks: Number of processes.
        window: Number of the window of the epoch that the documents are in.
    """
    documents = prepared.documents(split)
    if recipe.similarity.kind == "labelled-pairs":
        documents = labelled_documents(prepared, recipe, split)
    training = split == "train"
    rng = np.random.default_rng([recipe.seed, epoch if training else 0, 0 if training else 1, *[window] * (window > 0)])
    owners = prepared.corpora[documents]
    groups = [documents] if recipe.training.batches == "mixed" else [documents[owners == c] for c in np.unique(owners)]
    need = max(2, (recipe.objective.b or 1) + 1)
    batches = []
    for group in groups:
        order = rng.permutation(group)
        elsewhere = rng.permutation(np.setdiff1d(documents, group)) if len(group) < need else documents[:0]
        end = 0
        for positives in np.array_split(order, -(-len(order) // recipe.training.batch)):
            end += len(positives)
            wanted = max(need - len(positives), 0)
            own = order[np.arange(end, end + min(wanted, len(order) - len(positives))) % len(order)]
            batches.append((np.concatenate([positives, own, elsewhere[: wanted - len(own)]]), len(positives)))
    if training:
        batches = [batches[i] for i in rng.permutation(len(batches))]
    if ranks > 1:
        # Every process takes the same number of steps; the last batches of some may be used twice.
        batches = [batches[(rank + step * ranks) % len(batches)] for step in range(-(-len(batches) // ranks))]
    return batches


def load_batch(
    prepared: Prepared,
    recipe: Recipe,
    documents: NDArray[np.int64],
    positives: int,
    *,
    training: bool,
    seed: Sequence[int],
) -> Batch:
    """Read the documents of a batch.

    Args:
        recipe: Decides how many sentences and images of a document are used in training.
        training: Whether to sample from long documents, and to vary pixels.
    """
    rng = np.random.default_rng(list(seed))
    chosen = _whole_documents(prepared, recipe, documents, training, rng)
    strangers = _strangers(prepared, documents)
    if recipe.similarity.kind == "labelled-pairs":
        pairs = labelled_pairs(prepared, documents, strangers)
        strangers = pairs.strangers
        places = np.asarray(prepared.image_offsets[pairs.documents]) + pairs.images
        chosen = _pairs(np.asarray(prepared.sentence_offsets[pairs.documents]) + pairs.sentences, places)
        positives = int(np.isin(pairs.documents, documents[:positives]).sum())
    elif recipe.similarity.kind == "single-pair":
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        drawn = draw_single_pairs(chosen.sentence_counts, chosen.image_counts, generator)
        chosen = _pairs(chosen.sentences[drawn[0].numpy()], chosen.images[drawn[1].numpy()])
    words, lengths = _words(prepared, chosen.sentences)
    labels, weights = _relations(prepared, recipe, documents[:positives])
    return Batch(
        documents,
        positives,
        chosen.sentence_counts,
        chosen.image_counts,
        sentences=_vectors(prepared.sentences, chosen.sentences),
        words=words,
        lengths=lengths,
        images=_images(prepared, recipe, prepared.image_rows[chosen.images], training, rng),
        strangers=torch.from_numpy(strangers),
        relations=labels,
        relation_weights=weights,
        posteriors=_posteriors(prepared, documents[:positives], chosen) if recipe.objective.posterior else None,
    )


class _Chosen(NamedTuple):
    """The chosen sentences and image places, and their number in each document."""

    sentences: NDArray[np.int64]
    sentence_counts: list[int]
    images: NDArray[np.int64]
    image_counts: list[int]


def _whole_documents(
    prepared: Prepared, recipe: Recipe, documents: NDArray[np.int64], training: bool, rng: np.random.Generator
) -> _Chosen:
    """Choose all parts of the documents; in training, at most as many as the recipe allows."""
    limits = recipe.training
    sentences = drawn_places(prepared.sentence_offsets, documents, limits.max_sentences if training else None, rng)
    images = drawn_places(prepared.image_offsets, documents, limits.max_images if training else None, rng)
    chosen = _Chosen(*sentences, *images)
    return _with_likely(prepared, documents, chosen) if recipe.objective.posterior and training else chosen


LIKELY = 0.05
"""Sentences of at least this probability, by other evidence, are always used along with their images; they are few."""


def _with_likely(prepared: Prepared, documents: NDArray[np.int64], chosen: _Chosen) -> _Chosen:
    """Add, for documents that were sampled, the likely sentences of their images."""
    places = []
    for document, sentences, images in _local(prepared, documents, chosen):
        likely = np.flatnonzero(prepared.posterior_of(document)[:, images].max(1, initial=0) >= LIKELY)
        places.append(np.union1d(sentences, likely) + prepared.sentence_offsets[document])
    return chosen._replace(sentences=np.concatenate(places), sentence_counts=[len(each) for each in places])


def _posteriors(prepared: Prepared, documents: NDArray[np.int64], chosen: _Chosen) -> Tensor:
    """Return the posteriors of the chosen sentences and images, document after document."""
    own = [
        prepared.posterior_of(document)[np.ix_(sentences, images)].ravel()
        for document, sentences, images in _local(prepared, documents, chosen)
    ]
    return torch.from_numpy(np.concatenate(own).astype(np.float32))


def _local(
    prepared: Prepared, documents: NDArray[np.int64], chosen: _Chosen
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each document with the numbers of its chosen sentences and images within the document."""
    sentences = np.split(chosen.sentences, np.cumsum(chosen.sentence_counts)[:-1])
    images = np.split(chosen.images, np.cumsum(chosen.image_counts)[:-1])
    for document, rows, columns in zip(documents.tolist(), sentences, images, strict=False):
        yield document, rows - prepared.sentence_offsets[document], columns - prepared.image_offsets[document]


def _pairs(sentences: NDArray[np.int64], images: NDArray[np.int64]) -> _Chosen:
    ones = [1] * len(sentences)
    return _Chosen(sentences, ones, images, ones)


def _vectors(vectors: NDArray[np.float16] | None, rows: NDArray[np.int64]) -> Tensor | None:
    return None if vectors is None else torch.from_numpy(np.asarray(vectors[rows], np.float32))


def _words(prepared: Prepared, sentences: NDArray[np.int64]) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """Return word ids, one sentence after the other, and the number of words of each sentence."""
    if prepared.words is None:
        return None, None
    ids, offsets = prepared.words
    places = span_places(offsets, sentences)
    return torch.from_numpy(np.asarray(ids[places], np.int64)), torch.from_numpy(span_counts(offsets, sentences))


def _images(
    prepared: Prepared, recipe: Recipe, rows: NDArray[np.int64], training: bool, rng: np.random.Generator
) -> Tensor | RegionBatch:
    if prepared.regions is not None:
        features, concepts, offsets = prepared.regions
        places, counts = drawn_places(offsets, rows, recipe.training.max_regions if training else None, rng)
        return RegionBatch(
            torch.from_numpy(np.asarray(features[places], np.float32)),
            torch.tensor(counts),
            torch.from_numpy(np.asarray(concepts[places], np.int64)),
        )
    if prepared.images is None:
        from iconotext.train.views import load_pixels

        tower = recipe.features.image if isinstance(recipe.image, TowerSettings) else None
        return load_pixels([prepared.image_files[row] for row in rows], rng if training else None, tower=tower)
    found = np.asarray(prepared.images[rows], np.float32)
    if training and prepared.views is not None:
        drawn = rng.integers(0, prepared.views.shape[1] + 1, len(rows))  # 0 is the original picture
        other = np.flatnonzero(drawn)
        found[other] = prepared.views[rows[other]][np.arange(len(other)), drawn[other] - 1]
    return torch.from_numpy(found)


def _relations(
    prepared: Prepared, recipe: Recipe, positives: NDArray[np.int64]
) -> tuple[Tensor, Tensor] | tuple[None, None]:
    names = learned_relations(recipe, prepared)
    if not names:
        return None, None
    return torch.from_numpy(prepared.labels(positives, names)), prepared.relation_weights(names)


def _strangers(prepared: Prepared, documents: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (D, D) bool: whether two documents share no image."""
    counts = span_counts(prepared.image_offsets, documents)
    rows = prepared.image_rows[span_places(prepared.image_offsets, documents)]
    different, inverse = np.unique(rows, return_inverse=True)
    if len(different) == len(rows):  # the usual case
        return ~np.eye(len(counts), dtype=np.bool_)
    has = np.zeros((len(counts), len(different)), np.float32)
    has[np.repeat(np.arange(len(counts)), counts), inverse] = 1
    return np.asarray(has @ has.T == 0)


def planned_reads(
    prepared: Prepared,
    recipe: Recipe,
    planned: Sequence[tuple[NDArray[np.int64], int]],
    *,
    training: bool,
    epoch: int,
    rank: int = 0,
    first: int = 0,
    start: int = 0,
) -> Iterator[Callable[[], Batch]]:
    """Yield functions that read batches, beginning with batch number ``start``.

    Args:
        prepared: The documents.
        recipe: Decides how the documents of a batch are sampled.
        planned: The documents and number of positives of each batch.
        training: As for ``load_batch``.
        epoch: Number of the epoch, from 0.
        rank: Number of the process.
        first: Number in the epoch of the first of all planned batches; seeds the random numbers.
        start: Number of the first batch to read.
    """
    for number, (documents, positives) in enumerate(planned[start:], start):
        seed = [recipe.seed, epoch if training else 0, 2 if training else 3, rank, first + number]
        yield partial(load_batch, prepared, recipe, documents, positives, training=training, seed=seed)


def read_ahead(reads: Iterable[Callable[[], Batch]], *, readers: int = 1) -> Iterator[Batch]:
    """Yield the batches in order, read ahead on threads; the result does not depend on ``readers``."""
    with ThreadPoolExecutor(readers, thread_name_prefix="iconotext-batches") as pool:
        ahead: deque[Future[Batch]] = deque()
        for read in reads:
            ahead.append(pool.submit(read))
            if len(ahead) > readers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
