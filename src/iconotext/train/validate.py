"""Validation on documents that the model is not trained on, after each epoch and, with all metrics, at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from iconotext.encoders.coherence_relations import Coherence
from iconotext.encoders.joint_model import JointModel
from iconotext.evaluate.metrics import average_precision
from iconotext.evaluate.pair_vectors import PairVectors
from iconotext.evaluate.results import DocumentScores, Evaluation, Scored, evaluate, score_document
from iconotext.evaluate.retrieval import POOL, Retrieval, own_probabilities, rank_pools, retrieval, similarities
from iconotext.objectives.contrastive import draw_single_pairs
from iconotext.recipe import Recipe, SimilaritySettings
from iconotext.train.arrays import span_counts
from iconotext.train.batches import Batch, epoch_batches, planned_reads, read_ahead
from iconotext.train.loss import batch_loss, losses_of, no_information_losses
from iconotext.train.prepared import labelled_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.train.prepared import Prepared


def split_pairs(model: JointModel, prepared: Prepared, recipe: Recipe, split: str, device: torch.device) -> PairVectors:
    """Encode the pairs of a split, from the arrays that the model was trained on."""
    documents = prepared.documents(split)
    parts = [(texts, images) for _, texts, images in _encoded(model, prepared, recipe, documents, device)]
    texts, images = (np.concatenate([array.numpy() for array in side]) for side in zip(*parts, strict=True))
    rows = np.asarray(prepared.image_rows[prepared.image_offsets[documents]])
    _, first, image_of = np.unique(rows, return_index=True, return_inverse=True)
    relations = tuple(prepared.labelled_relations)
    return PairVectors(
        ids=tuple(prepared.ids[document] for document in documents.tolist()),
        texts=(),  # only vectors are measured
        text_vectors=texts,
        images=(),
        image_vectors=images[first],
        image_of=image_of,
        relations=relations,
        labels=prepared.labels(documents, relations).astype(np.float64),
        left_out=(),
    )


def validation_median_rank(model: JointModel, prepared: Prepared, recipe: Recipe, device: torch.device) -> float:
    """Compute the median rank of the right image over the validation documents, as for test documents."""
    return image_retrieval(split_pairs(model, prepared, recipe, "validation", device)).median_rank.mean


def image_retrieval(pairs: PairVectors) -> Retrieval:
    """Compute median rank and R@K in pools of 500 images, or in one pool of all if there are fewer."""
    return retrieval(rank_pools(similarities(pairs), pairs.image_of, pool=min(POOL, len(pairs.image_vectors))))


def pair_figures(model: JointModel, pairs: PairVectors, relations: Sequence[str]) -> dict[str, Any]:
    """Compute ``image_retrieval``, and the average precision of the relations that the model predicts, in its order."""
    pool = min(POOL, len(pairs.image_vectors))
    figures: dict[str, Any] = {"pairs": len(pairs.ids), "pool": pool, **image_retrieval(pairs).as_dict()}
    if model.coherence is not None:
        probabilities = own_probabilities(pairs, Coherence(tuple(relations), model.coherence))
        labels = pairs.labels[:, [pairs.relations.index(name) for name in relations]]
        figures["average_precision"] = {
            name: average_precision(probabilities[answered, column], labels[answered, column] == 1)
            for column, name in enumerate(relations)
            if len(answered := np.flatnonzero(~np.isnan(labels[:, column])))
        }
    return figures


BATCH = 1024
"""Sentences, or images, that are encoded together where no loss is computed, unless one document has more."""

REGIONAL_BATCH = 64
"""The same number for images that are read as regions, each some seventy tokens of a Transformer."""

SINGLE_PAIRS = 6_000
"""Smallest number of pairs whose mean is the validation loss of NoStruct. With one pair from each of a few hundred
documents, chance in drawing would hide what the model learns, and the learning rate would fall too early."""


class Validation(NamedTuple):
    """Metrics on the validation documents.

    Attributes:
        loss: Mean loss.
        auc: AUC of their links; None if no gold links are known.
        no_information: Loss of a model to which everything is equally similar; None if no documents are compared.
        positive: Share of cosines above 0.
    """

    loss: float
    auc: float | None
    no_information: float | None
    positive: float


def validate(
    model: JointModel, prepared: Prepared, recipe: Recipe, device: torch.device, split: str = "validation"
) -> Validation:
    """Compute the figures of the validation documents, or of another split.

    Documents are whole and always have the same negatives. The loss is the recipe's from the first epoch on, whatever
    ``objective.mean_epochs`` is, so that all epochs are comparable.
    """
    total, no_information, count, positive, cells = 0.0, 0.0, 0, 0, 0
    generator = torch.Generator().manual_seed(recipe.seed)
    planned = epoch_batches(prepared, recipe, split, 0)
    draws = math.ceil(SINGLE_PAIRS / sum(positives for _, positives in planned))
    pairs = recipe.similarity.pairs
    whole = _whole(recipe) if pairs else recipe
    scored: list[DocumentScores] = []
    with torch.inference_mode():
        loss_of = partial(
            losses_of,
            recipe=recipe,
            epoch=recipe.training.epochs,
            generator=generator,
            scale=model.log_scale.exp(),
            bias=model.bias,
        )
        for batch in read_ahead(planned_reads(prepared, whole, planned, training=False, epoch=0)):
            moved = batch.to(device)
            losses, cosines, coherence_losses = batch_loss(
                model, moved, whole, epoch=recipe.training.epochs, generator=generator
            )
            compared = moved
            if recipe.similarity.kind == "single-pair":
                counts = moved.sentence_counts, moved.image_counts
                of_draws = []
                for _ in range(draws):  # pairs and their negatives in turn, from one generator
                    rows, columns = draw_single_pairs(*counts, generator)
                    of_draws.append(loss_of(_crossed(cosines, rows, columns), moved))
                losses = torch.cat(of_draws) + coherence_losses.repeat(draws)
            elif pairs:
                compared, of_links = _labelled(moved, cosines, prepared)
                losses = loss_of(of_links, compared)
            total, count = total + float(losses.sum()), count + len(losses)
            alike = no_information_losses(compared, recipe).mean() + coherence_losses.sum() / compared.positives
            no_information += float(alike) * len(losses)
            positive, cells = positive + int((cosines > 0).sum()), cells + cosines.numel()
            scored += map(score_document, _scored(batch, cosines, prepared))
    return Validation(
        total / count,
        Evaluation(tuple(scored)).means["auc"] if scored else None,
        no_information / count if recipe.objective.compares else None,
        positive / cells,
    )


def _encoded(
    model: JointModel, prepared: Prepared, recipe: Recipe, documents: NDArray[np.int64], device: torch.device
) -> Iterator[tuple[Batch, Tensor, Tensor]]:
    """Yield whole documents in batches, with the vectors of their sentences and images."""
    planned = [(part, len(part)) for part in _portions(prepared, documents)]
    with torch.inference_mode():
        for batch in read_ahead(planned_reads(prepared, _whole(recipe), planned, training=False, epoch=0)):
            moved = batch.to(device)
            texts = {"sentences": moved.sentences, "words": moved.words, "lengths": moved.lengths}
            sentences, images, *_ = model(moved.images, counts=moved.sentence_counts, **texts)
            yield batch, sentences.cpu(), images.cpu()


def _whole(recipe: Recipe) -> Recipe:
    """The recipe, without turning documents into pairs."""
    return recipe.model_copy(update={"similarity": SimilaritySettings()})


def _labelled(batch: Batch, cosines: Tensor, prepared: Prepared) -> tuple[Batch, Tensor]:
    """The gold links of a batch of whole documents as a batch of pairs, and its cosines."""
    pairs = labelled_pairs(prepared, batch.documents, batch.negative_mask.cpu().numpy())
    place = np.searchsorted(batch.documents, pairs.documents, sorter=(order := np.argsort(batch.documents)))
    owner = order[place]  # number of the document in the batch
    rows = np.cumsum([0, *batch.sentence_counts])[owner] + pairs.sentences
    columns = np.cumsum([0, *batch.image_counts])[owner] + pairs.images
    linked = replace(
        batch,
        positives=int((owner < batch.positives).sum()),
        sentence_counts=[1] * len(rows),
        image_counts=[1] * len(rows),
        negative_mask=torch.from_numpy(pairs.negative_mask).to(cosines.device),
    )
    return linked, _crossed(cosines, torch.from_numpy(rows), torch.from_numpy(columns))


def _crossed(cosines: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return cosines[rows.to(cosines.device)][:, columns.to(cosines.device)]


def _scored(batch: Batch, cosines: Tensor, prepared: Prepared) -> Iterator[Scored]:
    """Yield the matrices of the positives whose links are known."""
    rows, columns = np.cumsum([0, *batch.sentence_counts]), np.cumsum([0, *batch.image_counts])
    for number, document in enumerate(batch.documents[: batch.positives].tolist()):
        single = batch.sentence_counts[number] == batch.image_counts[number] == 1
        if prepared.linked[document] and not single:  # in a single pair there is no choice
            block = cosines[rows[number] : rows[number + 1], columns[number] : columns[number + 1]]
            # A copy: a view would keep the matrix of the whole batch.
            yield Scored(prepared.ids[document], block.cpu().numpy().copy(), prepared.links_of(document))


def scored_documents(
    model: JointModel, prepared: Prepared, recipe: Recipe, documents: NDArray[np.int64], device: torch.device
) -> Iterator[Scored]:
    """The similarity matrix of whole documents, with their gold links; without images that were left out."""
    for batch, sentences, images in _encoded(model, prepared, recipe, documents, device):
        parts = torch.split(sentences, batch.sentence_counts), torch.split(images, batch.image_counts)
        for document, own_sentences, own_images in zip(batch.documents.tolist(), *parts, strict=True):
            pictures = prepared.image_rows[slice(*prepared.image_offsets[document : document + 2])] + 1
            cosines = (own_sentences @ own_images.T).numpy()
            yield Scored(prepared.ids[document], cosines, prepared.links_of(document), tuple(pictures.tolist()))


def evaluate_split(
    model: JointModel, prepared: Prepared, recipe: Recipe, split: str, device: torch.device
) -> Evaluation | None:
    """Compute AUC and the other metrics on a split; None if no links are known there."""
    documents = prepared.linked_documents(split)
    if not len(documents):
        return None
    return evaluate(scored_documents(model, prepared, recipe, documents, device))


def _portions(prepared: Prepared, documents: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
    """Divide documents, in order, into parts of about ``BATCH`` sentences and images at most."""
    if not len(documents):
        return []
    sizes = [span_counts(offsets, documents) for offsets in (prepared.sentence_offsets, prepared.image_offsets)]
    most = np.array([BATCH, BATCH if prepared.regions is None else REGIONAL_BATCH])
    cuts, filled = [], np.zeros(2, np.int64)
    for number, size in enumerate(zip(*(counts.tolist() for counts in sizes), strict=True)):
        if number and (filled + size > most).any():
            cuts.append(number)
            filled = np.zeros(2, np.int64)
        filled = filled + size
    return np.split(documents, cuts)
