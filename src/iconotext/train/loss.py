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
    chosen, objective = recipe.similarity, recipe.objective
    if chosen.kind == "single-pair":
        similarities = cosines
    else:
        similarities = set_similarities(
            cosines, batch.sentence_counts, batch.image_counts, kind=chosen.kind, k=chosen.k, links=chosen.links
        )
    documents, positives = len(batch.documents), batch.positives
    b = None if objective.b is None else min(objective.b, documents - 1)
    drawn = sample_negatives(positives, documents, b, generator)
    strangers = batch.strangers[:positives]
    image_negatives, sentence_negatives = (each.to(strangers.device) & strangers for each in drawn)
    if objective.kind == "hinge":
        mean = objective.negatives == "mean" or epoch < objective.mean_epochs
        losses = hinge(
            similarities,
            image_negatives,
            sentence_negatives,
            margin=objective.margin,
            negatives="mean" if mean else "hardest",
        )
    elif objective.kind == "softmax":
        losses = softmax(similarities, image_negatives, sentence_negatives, scale=scale)
    else:
        losses = logistic(similarities, image_negatives, sentence_negatives, scale=scale, bias=bias)
    return losses, cosines
