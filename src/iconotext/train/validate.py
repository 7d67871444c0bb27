"""Validation: the loss by which the model is chosen, and the AUC, on documents that it is not trained on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from iconotext.embed.model import JointModel
from iconotext.evaluate.results import Evaluation, Scored, evaluate
from iconotext.objectives import draw_single_pairs
from iconotext.recipe import Recipe, SimilaritySettings
from iconotext.train.batches import Batch, epoch_batches, planned_reads, read_ahead
from iconotext.train.labelled import labelled_pairs
from iconotext.train.loss import batch_loss, losses_of, no_information_losses
from iconotext.train.prepared import span_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.train.prepared import Prepared
    from iconotext.types import FloatMatrix

Losses = Callable[[Tensor, Batch], Tensor]
"""(cosines of pairs, their batch) to the losses of the recipe."""

AT_ONCE = 1024
"""Sentences, and images, that are encoded together if there is no loss, unless one document has more."""

REGIONAL_AT_ONCE = 64
"""The same for images that are read as regions, each some seventy tokens of a Transformer."""

SINGLE_PAIRS = 6_000
"""Smallest number of pairs whose mean is the validation loss of NoStruct. With one pair from each of a few hundred
documents, chance in drawing would hide what the model learns, and the learning rate would fall too early."""


class Validation(NamedTuple):
    """Figures on the validation documents.

    Attributes:
        loss: Mean loss.
        auc: Of their links; None if no gold links are known.
        no_information: Loss of a model to which everything is equally similar; None if nothing is compared.
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

    Args:
        model: In evaluation mode.
    """
    total, nothing, count, positive, cells = 0.0, 0.0, 0, 0, 0
    generator = torch.Generator().manual_seed(recipe.seed)
    planned = epoch_batches(prepared, recipe, split, 0)
    draws = math.ceil(SINGLE_PAIRS / sum(positives for _, positives in planned))
    pairs = recipe.similarity.kind in ("single-pair", "labelled-pairs")
    whole = _whole(recipe) if pairs else recipe
    scored: list[Scored] = []
    with torch.inference_mode():
        own: Losses = partial(
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
                losses = _single_pair_losses(own, moved, cosines, generator, draws) + coherence_losses.repeat(draws)
            elif pairs:
                compared, of_links = _labelled(moved, cosines, prepared)
                losses = own(of_links, compared)
            total, count = total + float(losses.sum()), count + len(losses)
            alike = no_information_losses(compared, recipe).mean() + coherence_losses.sum() / compared.positives
            nothing += float(alike) * len(losses)
            positive, cells = positive + int((cosines > 0).sum()), cells + cosines.numel()
            scored += _scored(batch, cosines, prepared)
    return Validation(
        total / count,
        evaluate(scored).means["auc"] if scored else None,
        nothing / count if recipe.objective.compares else None,
        positive / cells,
    )


def encode_pairs(
    model: JointModel, prepared: Prepared, recipe: Recipe, documents: NDArray[np.int64], device: torch.device
) -> tuple[FloatMatrix, FloatMatrix]:
    """(documents, dim) vectors of the text and of the image of documents with one of each.

    Args:
        model: In evaluation mode.
        documents: Numbers of documents, ascending.
    """
    parts = [(texts, images) for _, texts, images in _encoded(model, prepared, recipe, documents, device)]
    texts, images = (np.concatenate([each.numpy() for each in side]) for side in zip(*parts, strict=True))
    return texts, images


def _encoded(
    model: JointModel, prepared: Prepared, recipe: Recipe, documents: NDArray[np.int64], device: torch.device
) -> Iterator[tuple[Batch, Tensor, Tensor]]:
    """Whole documents in batches, with the vectors of their sentences and images."""
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


def _single_pair_losses(
    losses: Losses, batch: Batch, cosines: Tensor, generator: torch.Generator, draws: int
) -> Tensor:
    """The losses of NoStruct for ``draws`` random pairs of each document, from the cosines of all their pairs."""
    drawn = (draw_single_pairs(batch.sentence_counts, batch.image_counts, generator) for _ in range(draws))
    return torch.cat([losses(_crossed(cosines, rows, columns), batch) for rows, columns in drawn])


def _labelled(batch: Batch, cosines: Tensor, prepared: Prepared) -> tuple[Batch, Tensor]:
    """The gold links of a batch of whole documents as a batch of pairs, and its cosines."""
    pairs = labelled_pairs(prepared, batch.documents, batch.strangers.cpu().numpy())
    place = np.searchsorted(batch.documents, pairs.documents, sorter=(order := np.argsort(batch.documents)))
    own = order[place]  # number of the document in the batch
    rows = np.cumsum([0, *batch.sentence_counts])[own] + pairs.sentences
    columns = np.cumsum([0, *batch.image_counts])[own] + pairs.images
    linked = replace(
        batch,
        positives=int((own < batch.positives).sum()),
        sentence_counts=[1] * len(rows),
        image_counts=[1] * len(rows),
        strangers=torch.from_numpy(pairs.strangers).to(cosines.device),
    )
    return linked, _crossed(cosines, torch.from_numpy(rows), torch.from_numpy(columns))


def _crossed(cosines: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return cosines[rows.to(cosines.device)][:, columns.to(cosines.device)]


def _scored(batch: Batch, cosines: Tensor, prepared: Prepared) -> Iterator[Scored]:
    """The matrices of the positives whose links are known."""
    rows, columns = np.cumsum([0, *batch.sentence_counts]), np.cumsum([0, *batch.image_counts])
    for number, document in enumerate(batch.documents[: batch.positives].tolist()):
        single = batch.sentence_counts[number] == batch.image_counts[number] == 1
        if prepared.linked[document] and not single:  # else there is no choice
            block = cosines[rows[number] : rows[number + 1], columns[number] : columns[number + 1]]
            # A copy: a view would keep the matrix of the whole batch.
            yield Scored(prepared.ids[document], block.cpu().numpy().copy(), prepared.links_of(document))


def scored_documents(
    model: JointModel, prepared: Prepared, recipe: Recipe, documents: NDArray[np.int64], device: torch.device
) -> Iterator[Scored]:
    """The similarity matrix of whole documents, with their gold links; without images that were left out.

    Args:
        model: In evaluation mode.
    """
    for batch, sentences, images in _encoded(model, prepared, recipe, documents, device):
        parts = torch.split(sentences, batch.sentence_counts), torch.split(images, batch.image_counts)
        for document, own_sentences, own_images in zip(batch.documents.tolist(), *parts, strict=True):
            cosines = (own_sentences @ own_images.T).numpy()
            yield Scored(prepared.ids[document], cosines, prepared.links_of(document))


def evaluate_split(
    model: JointModel, prepared: Prepared, recipe: Recipe, split: str, device: torch.device
) -> Evaluation | None:
    """AUC and the other metrics on a split; None if no links are known there."""
    documents = prepared.linked_documents(split)
    if not len(documents):
        return None
    return evaluate(scored_documents(model, prepared, recipe, documents, device))


def _portions(prepared: Prepared, documents: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
    """The documents in order, in parts of about ``at_once`` sentences and images at most."""
    if not len(documents):
        return []
    sizes = [span_counts(offsets, documents) for offsets in (prepared.sentence_offsets, prepared.image_offsets)]
    most = np.array([AT_ONCE, AT_ONCE if prepared.regions is None else REGIONAL_AT_ONCE])
    cuts, used = [], np.zeros(2, np.int64)
    for number, size in enumerate(zip(*(each.tolist() for each in sizes), strict=True)):
        if number and (used + size > most).any():
            cuts.append(number)
            used = np.zeros(2, np.int64)
        used = used + size
    return np.split(documents, cuts)
