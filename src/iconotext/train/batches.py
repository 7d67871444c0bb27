"""Which documents stand in a batch, and what of them: the same for the same seed and epoch, whatever came before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from iconotext.embed.regions import RegionBatch
from iconotext.objectives import draw_single_pairs
from iconotext.recipe import Recipe
from iconotext.train.labelled import labelled_documents, labelled_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.train.prepared import Prepared


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """D documents; the first P are compared with themselves, all are negatives for others.

    Where labelled pairs stand for documents, D and P count pairs, each with one sentence and one image.

    Attributes:
        documents: Their numbers.
        positives: P.
        sentence_counts: (D,) sentences of each that take part.
        image_counts: (D,) images.
        sentences: (N, features) vectors, or None.
        words: (T,) word ids, or None.
        lengths: (N,) words of each sentence, or None.
        images: (M, features) vectors, (M, 224, 224, 3) pixels, or regions.
        relations: (P, R) labels of the positives' coherence relations, 1, 0 or NaN, None where they do not matter.
        relation_weights: (R,) what each relation counts, None without labels.
        strangers: (D, D) bool, true where two documents share no image, counting those too that do not take part: only
            then one is a negative for the other. Labelled pairs of one document also are, if they are not linked
            crosswise.
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

    def to(self, device: torch.device) -> Batch:
        """The batch with its tensors on a device."""
        moved = {
            name: None if (here := getattr(self, name)) is None else here.to(device, non_blocking=True)
            for name in ("sentences", "words", "lengths", "images", "strangers", "relations", "relation_weights")
        }
        counts = (self.documents, self.positives, self.sentence_counts, self.image_counts)
        return Batch(*counts, **moved)  # type: ignore[arg-type]  # by name, mypy cannot see which may be None


def epoch_batches(
    prepared: Prepared, recipe: Recipe, split: str, epoch: int, *, rank: int = 0, ranks: int = 1
) -> list[tuple[NDArray[np.int64], int]]:
    """The documents of each batch of an epoch, and how many of them are positives.

    Training documents come in an order of the epoch's own, validation documents always in the same one. Batches are as
    even as can be, at most ``training.batch`` positives each. Where more negatives are wanted than a batch has, the
    next documents in that order stand behind the positives: of the same corpus, if batches are of one, as long as there
    are any.

    Args:
        prepared: The corpus.
        recipe: The recipe.
        split: ``train`` or ``validation``.
        epoch: Counted from 0.
        rank: Which of several processes asks; each gets batches of its own, as many as the others.
        ranks: Number of processes.
    """
    documents = prepared.documents(split)
    if recipe.similarity.kind == "labelled-pairs":
        documents = labelled_documents(prepared, recipe, split)
    training = split == "train"
    rng = np.random.default_rng([recipe.seed, epoch if training else 0, 0 if training else 1])
    owners = np.asarray(prepared.corpora)[documents]
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
        # Every process takes as many steps; the last batches of some processes may come twice.
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
        prepared: The corpus.
        recipe: Says how many sentences and images of a document take part in training.
        documents: Their numbers.
        positives: How many of them are positives.
        training: Whether to draw from long documents, and to vary pixels.
        seed: For what is drawn.
    """
    rng = np.random.default_rng(list(seed))
    limits = recipe.training
    sentences, sentence_counts = _chosen(prepared.sentence_offsets, documents, limits.max_sentences, training, rng)
    places, image_counts = _chosen(prepared.image_offsets, documents, limits.max_images, training, rng)
    rows = np.asarray(prepared.image_rows[places])
    strangers = _strangers(prepared, documents)
    if recipe.similarity.kind == "labelled-pairs":
        pairs = labelled_pairs(prepared, documents, strangers.numpy())
        sentences = np.asarray(prepared.sentence_offsets[pairs.documents]) + pairs.sentences
        rows = np.asarray(prepared.image_rows[np.asarray(prepared.image_offsets[pairs.documents]) + pairs.images])
        sentence_counts = image_counts = [1] * len(rows)
        strangers = torch.from_numpy(pairs.strangers)
        positives = int(np.isin(pairs.documents, documents[:positives]).sum())
    elif recipe.similarity.kind == "single-pair":
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        one_sentence, one_image = draw_single_pairs(sentence_counts, image_counts, generator)
        sentences, rows = sentences[one_sentence.numpy()], rows[one_image.numpy()]
        sentence_counts = image_counts = [1] * len(documents)
    words = lengths = vectors = None
    if prepared.words is not None:
        assert prepared.word_offsets is not None
        starts = np.asarray(prepared.word_offsets[sentences])
        counts = np.asarray(prepared.word_offsets[sentences + 1]) - starts
        words = torch.from_numpy(np.asarray(prepared.words[_ranges(starts, counts)], np.int64))
        lengths = torch.from_numpy(counts)
    else:
        assert prepared.sentences is not None
        vectors = torch.from_numpy(np.asarray(prepared.sentences[sentences], np.float32))
    images: Tensor | RegionBatch
    if prepared.regions is not None:
        images = _regions(prepared, rows, limits.max_regions, training, rng)
    elif prepared.images is None:
        from iconotext.train.pixels import load_pixels

        images = load_pixels([prepared.image_files[row] for row in rows], rng if training else None)
    else:
        features = np.asarray(prepared.images[rows], np.float32)
        if training and prepared.views is not None:
            drawn = rng.integers(0, prepared.views.shape[1] + 1, len(rows))  # 0 is the picture itself
            other = np.flatnonzero(drawn)
            features[other] = prepared.views[rows[other], drawn[other] - 1]
        images = torch.from_numpy(features)
    chosen = (sentence_counts, image_counts, vectors, words, lengths, images, strangers)
    return Batch(documents, positives, *chosen, *_relations(prepared, recipe, documents[:positives]))


def _relations(
    prepared: Prepared, recipe: Recipe, positives: NDArray[np.int64]
) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """Labels and weights of what the coherence objective tells, if the recipe has it."""
    if not recipe.objective.coherence:
        return None, None
    names = recipe.objective.relations or prepared.labelled_relations
    return torch.from_numpy(prepared.labels(positives, names)), prepared.relation_weights(names)


def _regions(
    prepared: Prepared, rows: NDArray[np.int64], limit: int | None, training: bool, rng: np.random.Generator
) -> RegionBatch:
    assert prepared.regions is not None
    assert prepared.region_concepts is not None
    assert prepared.region_offsets is not None
    places, counts = _chosen(prepared.region_offsets, rows, limit, training, rng)
    return RegionBatch(
        torch.from_numpy(np.asarray(prepared.regions[places], np.float32)),
        torch.tensor(counts),
        torch.from_numpy(np.asarray(prepared.region_concepts[places], np.int64)),
    )


def batches_ahead(
    prepared: Prepared,
    recipe: Recipe,
    planned: Sequence[tuple[NDArray[np.int64], int]],
    *,
    training: bool,
    epoch: int,
    rank: int = 0,
    start: int = 0,
) -> Iterator[Batch]:
    """The batches of an epoch, from one on, read on a thread while the one before is computed."""
    from concurrent.futures import ThreadPoolExecutor

    def read(number: int) -> Batch:
        documents, positives = planned[number]
        seed = [recipe.seed, epoch if training else 0, 2 if training else 3, rank, number]
        return load_batch(prepared, recipe, documents, positives, training=training, seed=seed)

    with ThreadPoolExecutor(1, thread_name_prefix="iconotext-batches") as pool:
        following = pool.submit(read, start) if start < len(planned) else None
        for number in range(start, len(planned)):
            assert following is not None
            batch = following.result()
            following = pool.submit(read, number + 1) if number + 1 < len(planned) else None
            yield batch


def _chosen(
    offsets: NDArray[np.int64],
    documents: NDArray[np.int64],
    limit: int | None,
    training: bool,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], list[int]]:
    """The rows of the documents, document after document in reading order, and how many each has.

    Regions are to images what sentences are to documents.
    """
    starts, ends = np.asarray(offsets[documents]), np.asarray(offsets[documents + 1])
    counts = ends - starts
    if not training or limit is None or counts.max() <= limit:
        return _ranges(starts, counts), counts.tolist()
    pieces = [
        start + (np.sort(rng.permutation(count)[:limit]) if count > limit else np.arange(count))
        for start, count in zip(starts, counts, strict=True)
    ]
    return np.concatenate(pieces), [len(piece) for piece in pieces]


def _ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, ... of each, one after the other."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def _strangers(prepared: Prepared, documents: NDArray[np.int64]) -> Tensor:
    """(D, D) bool: which documents have no image in common."""
    places, counts = _chosen(prepared.image_offsets, documents, None, False, np.random.default_rng())
    rows = np.asarray(prepared.image_rows[places])
    different, inverse = np.unique(rows, return_inverse=True)
    if len(different) == len(rows):  # the usual case
        return ~torch.eye(len(counts), dtype=torch.bool)
    has = np.zeros((len(counts), len(different)), np.float32)
    has[np.repeat(np.arange(len(counts)), counts), inverse] = 1
    return torch.from_numpy(has @ has.T == 0)
