"""What a model is worth on documents it does not train on: the loss that chooses, and the AUC that only informs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch

from iconotext.embed.model import JointModel
from iconotext.evaluate.results import Evaluation, Scored, evaluate
from iconotext.recipe import Recipe, SimilaritySettings
from iconotext.train.batches import batches_ahead, epoch_batches
from iconotext.train.loss import batch_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.train.prepared import Prepared

AT_ONCE = 64
"""Documents that are encoded together where there is no loss."""


def validation_loss(model: JointModel, prepared: Prepared, recipe: Recipe, device: torch.device, epoch: int) -> float:
    """Mean loss over the validation documents, with whole documents and always the same negatives."""
    total = count = 0.0
    generator = torch.Generator().manual_seed(recipe.seed)
    planned = epoch_batches(prepared, recipe, "validation", epoch)
    with torch.inference_mode():
        for batch in batches_ahead(prepared, recipe, planned, training=False, epoch=epoch):
            losses, _ = batch_loss(model, batch.to(device), recipe, epoch=epoch, generator=generator)
            total += float(losses.sum())
            count += len(losses)
    return total / count


def linked_documents(prepared: Prepared, split: str) -> NDArray[np.int64]:
    """Documents of a split whose gold links are known."""
    documents = prepared.documents(split)
    return documents[np.asarray(prepared.linked)[documents]]


def scored_documents(
    model: JointModel, prepared: Prepared, recipe: Recipe, documents: NDArray[np.int64], device: torch.device
) -> Iterator[Scored]:
    """The similarity matrix of whole documents, with their gold links; images that were left out are missing.

    Args:
        model: In evaluation mode.
        prepared: The corpus.
        recipe: Of the model.
        documents: Numbers of the documents.
        device: Where the model is.
    """
    whole = recipe.model_copy(update={"similarity": SimilaritySettings()})  # no drawing of single pairs
    planned = [(documents[at : at + AT_ONCE], 1) for at in range(0, len(documents), AT_ONCE)]
    with torch.inference_mode():
        for batch in batches_ahead(prepared, whole, planned, training=False, epoch=0):
            moved = batch.to(device)
            sentences, images, _, _ = model(
                moved.images, sentences=moved.sentences, words=moved.words, lengths=moved.lengths
            )
            parts = zip(
                batch.documents,
                sentences.cpu().split(batch.sentence_counts),
                images.cpu().split(batch.image_counts),
                strict=True,
            )
            for document, own_sentences, own_images in parts:
                start, end = prepared.link_offsets[document], prepared.link_offsets[document + 1]
                links = tuple((int(sentence), int(image)) for sentence, image in prepared.links[start:end])
                yield Scored(prepared.ids[document], (own_sentences @ own_images.T).numpy(), links)


def evaluate_split(
    model: JointModel, prepared: Prepared, recipe: Recipe, split: str, device: torch.device
) -> Evaluation | None:
    """AUC and the other metrics on a split; None where no links are known there."""
    documents = linked_documents(prepared, split)
    if not len(documents):
        return None
    return evaluate(scored_documents(model, prepared, recipe, documents, device))
