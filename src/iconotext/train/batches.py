"""Batches of training documents: their plan, and reading them ahead of the training loop.

A batch depends only on seed, epoch and step, not on earlier batches. Epochs and steps count from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iconotext.networks.transformer import RegionBatch
from iconotext.objectives.contrastive import draw_single_pairs
from iconotext.recipe import Recipe
from iconotext.recipe.encoders import NetworkSettings
from iconotext.system.threads import in_threads
from iconotext.train.arrays import Rows, drawn_places, span_counts, span_places
from iconotext.train.prepared import Prepared, labelled_documents, labelled_pairs, learned_relations


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
        negative_mask: (D, D) bool, whether two documents may be negatives for each other: they share no image, not even
            one that is not used here. Labelled pairs of one document may if they are not linked crosswise.
    """

    documents: Rows
    positives: int
    sentence_counts: list[int]
    image_counts: list[int]
    sentences: Tensor | None
    words: Tensor | None
    lengths: Tensor | None
    images: Tensor | RegionBatch
    negative_mask: Tensor
    relations: Tensor | None = None
    relation_weights: Tensor | None = None
    posteriors: Tensor | None = None

    def to(self, device: torch.device) -> Batch:
        """Move the tensors of the batch to a device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=True)
            for name, value in values.items()
            if isinstance(value, Tensor | RegionBatch)
        }
        return replace(self, **moved)


def epoch_batches(prepared: Prepared, recipe: Recipe, split: str, epoch: int) -> list[tuple[Rows, int]]:
    """Choose the documents of each batch of an epoch, and the number of positives among them.

    Training documents come in a new order each epoch, validation documents always in the same one. Batches are as even
    as possible, with at most ``training.batch`` positives each. If a batch needs more negatives than it has, the next
    documents in the order follow the positives: of the same corpus, if batches are of one corpus, while there are any.
    """
    documents = prepared.documents(split)
    if recipe.similarity.kind == "labelled-pairs":
        documents = labelled_documents(prepared, recipe, split)
    training = split == "train"
    rng = np.random.default_rng([recipe.seed, epoch if training else 0, 0 if training else 1])
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
            missing = max(need - len(positives), 0)
            # The batch's own positives come last in this circle, so no document is in it twice.
            local = order[np.arange(end, end + min(missing, len(order) - len(positives))) % len(order)]
            batches.append((np.concatenate([positives, local, elsewhere[: missing - len(local)]]), len(positives)))
    if training:
        batches = [batches[i] for i in rng.permutation(len(batches))]
    return batches


def load_batch(
    prepared: Prepared,
    recipe: Recipe,
    documents: Rows,
    positives: int,
    *,
    training: bool,
    seed: Sequence[int],
) -> Batch:
    """Read the documents of a batch; in training, long documents are sampled and pixels varied."""
    rng = np.random.default_rng(list(seed))
    chosen = _whole_documents(prepared, recipe, documents, training, rng)
    negative_mask = _negative_mask(prepared, documents)
    if recipe.similarity.kind == "labelled-pairs":
        pairs = labelled_pairs(prepared, documents, negative_mask)
        negative_mask = pairs.negative_mask
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
        negative_mask=torch.from_numpy(negative_mask),
        relations=labels,
        relation_weights=weights,
        posteriors=_posteriors(prepared, documents[:positives], chosen) if recipe.objective.posterior else None,
    )


class _Chosen(NamedTuple):
    """The chosen sentences and image places, and their number in each document."""

    sentences: Rows
    sentence_counts: list[int]
    images: Rows
    image_counts: list[int]


def _whole_documents(
    prepared: Prepared, recipe: Recipe, documents: Rows, training: bool, rng: np.random.Generator
) -> _Chosen:
    """Choose all parts of the documents; in training, at most as many as the recipe allows."""
    limits = recipe.training
    sentences = drawn_places(prepared.sentence_offsets, documents, limits.max_sentences if training else None, rng)
    images = drawn_places(prepared.image_offsets, documents, limits.max_images if training else None, rng)
    chosen = _Chosen(*sentences, *images)
    return _with_likely(prepared, documents, chosen) if recipe.objective.posterior and training else chosen


LIKELY = 0.05
"""Sentences of at least this probability, by other evidence, are always used along with their images; they are few."""


def _with_likely(prepared: Prepared, documents: Rows, chosen: _Chosen) -> _Chosen:
    """Add, for documents that were sampled, the likely sentences of their images."""
    places = []
    for document, sentences, images in _local(prepared, documents, chosen):
        likely = np.flatnonzero(prepared.posterior_of(document)[:, images].max(1, initial=0) >= LIKELY)
        places.append(np.union1d(sentences, likely) + prepared.sentence_offsets[document])
    return chosen._replace(sentences=np.concatenate(places), sentence_counts=[len(rows) for rows in places])


def _posteriors(prepared: Prepared, documents: Rows, chosen: _Chosen) -> Tensor:
    """Return the posteriors of the chosen sentences and images, document after document."""
    posteriors = [
        prepared.posterior_of(document)[np.ix_(sentences, images)].ravel()
        for document, sentences, images in _local(prepared, documents, chosen)
    ]
    return torch.from_numpy(np.concatenate(posteriors).astype(np.float32))


def _local(prepared: Prepared, documents: Rows, chosen: _Chosen) -> Iterator[tuple[int, Rows, Rows]]:
    """Yield each document with the numbers of its chosen sentences and images within the document."""
    sentences = np.split(chosen.sentences, np.cumsum(chosen.sentence_counts)[:-1])
    images = np.split(chosen.images, np.cumsum(chosen.image_counts)[:-1])
    for document, rows, columns in zip(documents.tolist(), sentences, images, strict=False):
        yield document, rows - prepared.sentence_offsets[document], columns - prepared.image_offsets[document]


def _pairs(sentences: Rows, images: Rows) -> _Chosen:
    ones = [1] * len(sentences)
    return _Chosen(sentences, ones, images, ones)


def _vectors(vectors: NDArray[np.float16] | None, rows: Rows) -> Tensor | None:
    return None if vectors is None else torch.from_numpy(np.asarray(vectors[rows], np.float32))


def _words(prepared: Prepared, sentences: Rows) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """Return word ids, one sentence after the other, and the number of words of each sentence."""
    if prepared.words is None:
        return None, None
    ids, offsets = prepared.words
    places = span_places(offsets, sentences)
    return torch.from_numpy(np.asarray(ids[places], np.int64)), torch.from_numpy(span_counts(offsets, sentences))


def _images(
    prepared: Prepared, recipe: Recipe, rows: Rows, training: bool, rng: np.random.Generator
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
        from iconotext.networks.image_network import load_pixels

        whole = isinstance(recipe.image, NetworkSettings) and recipe.image.pictures == "resized"
        files = [prepared.image_files[row] for row in rows]
        return load_pixels(files, rng if training else None, whole=whole)
    features = np.asarray(prepared.images[rows], np.float32)
    if training and prepared.augmentations is not None:
        drawn = rng.integers(0, prepared.augmentations.shape[1] + 1, len(rows))  # 0 is the original picture
        other = np.flatnonzero(drawn)
        features[other] = prepared.augmentations[rows[other]][np.arange(len(other)), drawn[other] - 1]
    return torch.from_numpy(features)


def _relations(prepared: Prepared, recipe: Recipe, positives: Rows) -> tuple[Tensor, Tensor] | tuple[None, None]:
    names = learned_relations(recipe, prepared)
    if not names:
        return None, None
    return torch.from_numpy(prepared.labels(positives, names)), prepared.relation_weights(names)


def _negative_mask(prepared: Prepared, documents: Rows) -> NDArray[np.bool_]:
    """Return (D, D) bool: whether two documents share no image."""
    counts = span_counts(prepared.image_offsets, documents)
    rows = prepared.image_rows[span_places(prepared.image_offsets, documents)]
    different, inverse = np.unique(rows, return_inverse=True)
    if len(different) == len(rows):  # the usual case: no image is shared
        return ~np.eye(len(counts), dtype=np.bool_)
    has = np.zeros((len(counts), len(different)), np.float32)
    has[np.repeat(np.arange(len(counts)), counts), inverse] = 1
    return np.asarray(has @ has.T == 0)


def planned_reads(
    prepared: Prepared,
    recipe: Recipe,
    planned: Sequence[tuple[Rows, int]],
    *,
    training: bool,
    epoch: int,
    start: int = 0,
) -> Iterator[Callable[[], Batch]]:
    """Yield functions that read batches, from batch number ``start`` on."""
    for number, (documents, positives) in enumerate(planned[start:], start):
        seed = [recipe.seed, epoch if training else 0, 2 if training else 3, 0, number]
        yield partial(load_batch, prepared, recipe, documents, positives, training=training, seed=seed)


def read_ahead(reads: Iterable[Callable[[], Batch]], *, readers: int = 1) -> Iterator[Batch]:
    """Yield the batches in order, read ahead on threads; the result does not depend on ``readers``."""
    with closing(in_threads(lambda read: read(), reads, threads=readers, ahead=readers + 1)) as batches:
        yield from batches
