"""The loss of a batch: encoders → cosines → set similarities → objective."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from iconotext.objectives import hinge, logistic, sample_negatives, softmax
from iconotext.recipe import Recipe
from iconotext.similarity import set_similarities
from iconotext.train.batches import Batch

Encode = Callable[..., tuple[Tensor, Tensor, Tensor, Tensor]]
"""``JointModel``, or what wraps it."""


def batch_loss(
    encode: Encode, batch: Batch, recipe: Recipe, *, epoch: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The loss of each positive of a batch, and the cosines it came from.

    Args:
        encode: The model.
        batch: Documents.
        recipe: Names similarity and objective.
        epoch: Counted from 0; see ``objective.mean_epochs``.
        generator: Draws negatives where the recipe wants fewer than there are.

    Returns:
        (P,) losses and the (N, M) cosines of all sentences and images of the batch.
    """
    sentences, images, scale, bias = encode(
        batch.images, sentences=batch.sentences, words=batch.words, lengths=batch.lengths
    )
    cosines = sentences @ images.T
    chosen = recipe.similarity
    if chosen.kind == "single-pair":
        similarities = cosines
    else:
        similarities = set_similarities(
            cosines, batch.sentence_counts, batch.image_counts, kind=chosen.kind, k=chosen.k, links=chosen.links
        )
    losses = losses_of(similarities, batch, recipe, epoch=epoch, generator=generator, scale=scale, bias=bias)
    return losses, cosines


def losses_of(
    similarities: Tensor,
    batch: Batch,
    recipe: Recipe,
    *,
    epoch: int,
    generator: torch.Generator,
    scale: Tensor,
    bias: Tensor,
) -> Tensor:
    """The objective of each positive of a batch.

    Args:
        similarities: (D, D) of the sentences of each document with the images of each.
        batch: The documents.
        recipe: Names the objective.
        epoch: Counted from 0.
        generator: Draws negatives.
        scale: Of softmax and logistic.
        bias: Of logistic.

    Returns:
        (P,) losses.
    """
    objective = recipe.objective
    documents, positives = len(batch.documents), batch.positives
    b = None if objective.b is None else min(objective.b, documents - 1)
    drawn = sample_negatives(positives, documents, b, generator)
    strangers = batch.strangers[:positives]
    masks = tuple(each.to(strangers.device) & strangers for each in drawn)
    if objective.kind == "softmax":
        return softmax(similarities, *masks, scale=scale)
    if objective.kind == "logistic":
        return logistic(similarities, *masks, scale=scale, bias=bias)
    mean = objective.negatives == "mean" or epoch < objective.mean_epochs
    return hinge(similarities, *masks, margin=objective.margin, negatives="mean" if mean else "hardest")
