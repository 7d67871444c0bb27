"""The loss of a batch: from encoders through cosines and set similarities to objectives.

``batch_loss`` encodes a batch and computes its losses, ``losses_of`` computes them from cosines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from iconotext.objectives import (
    coherence,
    draw_members,
    hinge,
    intra_document,
    logistic,
    loss_without_information,
    order,
    posterior,
    sample_negatives,
    softmax,
)
from iconotext.recipe import Recipe
from iconotext.similarity.sets import negative_similarities, own_similarities, set_similarities
from iconotext.train.batches import Batch

Encode = Callable[..., tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]]
"""``JointModel``, or a function that wraps it."""


def batch_loss(
    encode: Encode, batch: Batch, recipe: Recipe, *, epoch: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the loss of each positive of a batch, and the cosines from which it was computed.

    Returns:
        (P,) losses, the (N, M) cosines of all sentences and images of the batch, and (P,) the weighted coherence
        objective within the losses, 0 without it.
    """
    sentences, images, scale, bias, relations = encode(
        batch.images,
        sentences=batch.sentences,
        words=batch.words,
        lengths=batch.lengths,
        counts=batch.sentence_counts,
        pairs=None if batch.relations is None else _pairs(batch),
    )
    cosines = sentences @ images.T
    losses = losses_of(cosines, batch, recipe, epoch=epoch, generator=generator, scale=scale, bias=bias)
    coherence_losses = losses.new_zeros(batch.positives)
    if relations is not None and batch.relations is not None and batch.relation_weights is not None:
        weights = batch.relation_weights
        if recipe.objective.relation_loss == "mean":
            weights = weights / weights.sum()
        coherence_losses = recipe.objective.coherence * coherence(relations, batch.relations, weights)
    return losses + coherence_losses, cosines, coherence_losses


def _pairs(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the row of each positive's first sentence and first image; only positives without labels have more."""
    counts = (batch.sentence_counts, batch.image_counts)
    first = (torch.tensor([0, *each[: batch.positives - 1]]).cumsum(0) for each in counts)
    rows, columns = (each.to(batch.negative_mask.device) for each in first)
    return rows, columns


def losses_of(
    cosines: Tensor,
    batch: Batch,
    recipe: Recipe,
    *,
    epoch: int,
    generator: torch.Generator,
    scale: Tensor,
    bias: Tensor,
) -> Tensor:
    """Compute (P,) the weighted sum of the recipe's objectives for each positive of a batch (Li 2021, Eq. 5)."""
    objective = recipe.objective
    if not objective.compares:
        return cosines.new_zeros(batch.positives)  # only the coherence objective is used
    documents, positives = len(batch.sentence_counts), batch.positives
    b = None if objective.b is None else min(objective.b, documents - 1)
    drawn = sample_negatives(positives, documents, b, generator)
    negative_mask = batch.negative_mask[:positives]
    masks = tuple(each.to(negative_mask.device) & negative_mask for each in drawn)

    def contrast(margin: float, own: Tensor | None = None) -> Tensor:
        if objective.kind == "softmax":
            return softmax(similarities, *masks, scale=scale, own=own)
        if objective.kind == "logistic":
            return logistic(similarities, *masks, scale=scale, bias=bias, own=own)
        mean = objective.negatives == "mean" or epoch < objective.mean_epochs
        return hinge(similarities, *masks, margin=margin, negatives="mean" if mean else "hardest", own=own)

    if recipe.similarity.kind in ("single-pair", "labelled-pairs"):
        similarities = cosines  # documents are pairs, without parts or unlikely links
        return objective.cross_document * contrast(objective.margin)
    similarities = set_similarities(cosines, batch.sentence_counts, batch.image_counts, **_sets(recipe))
    losses = cosines.new_zeros(positives)
    if objective.cross_document:
        losses = losses + objective.cross_document * contrast(objective.margin)
    if objective.intra_document:
        unlikely = _unlikely(cosines, batch, recipe)
        likely = similarities.diagonal()[:positives]
        losses = losses + objective.intra_document * intra_document(likely, unlikely, margin=objective.margin / 2)
    if objective.sub_document:
        own = _sub_documents(cosines, batch, recipe, generator)
        losses = losses + objective.sub_document * contrast(objective.margin / 2, own)
    if objective.order:
        counts = batch.sentence_counts[:positives], batch.image_counts[:positives]
        losses = losses + objective.order * order(cosines, *counts, scale=scale)
    if batch.posteriors is not None:
        losses = losses + objective.posterior * _learned_from_others(cosines, batch, batch.posteriors, scale)
    return losses


def _learned_from_others(cosines: Tensor, batch: Batch, targets: Tensor, scale: Tensor) -> Tensor:
    """Compute (P,) the posterior objective."""
    counts = batch.sentence_counts[: batch.positives], batch.image_counts[: batch.positives]
    return posterior(cosines, targets, *counts, scale=scale)


def no_information_losses(batch: Batch, recipe: Recipe) -> Tensor:
    """Compute (P,) the value of ``losses_of`` if everything is equally similar; see ``loss_without_information``.

    The intra-document objective of Li 2021, likely against unlikely links, then has half the margin.
    """
    objective, positives = recipe.objective, batch.positives
    negative_mask = batch.negative_mask[:positives]
    drawn = (
        negative_mask if objective.b is None else negative_mask & (negative_mask.cumsum(1) <= objective.b)
    )  # all negatives are alike, so the first ones do
    least = partial(loss_without_information, drawn, drawn, kind=objective.kind)
    margin = objective.margin
    others = negative_mask.new_zeros(positives, dtype=torch.float32)
    if batch.posteriors is not None:
        alike = others.new_zeros(sum(batch.sentence_counts), sum(batch.image_counts))
        others = objective.posterior * _learned_from_others(alike, batch, batch.posteriors, others.new_ones(()))
    return (
        others
        + objective.cross_document * least(margin=margin)
        + objective.sub_document * least(margin=margin / 2)
        + objective.intra_document * margin / 2
        + objective.order * math.log(2)
    )


def _sets(recipe: Recipe) -> dict[str, Any]:
    """Return the settings of the recipe's set similarity; documents must have sets of sentences and images."""
    chosen = recipe.similarity
    return {"kind": chosen.kind, "k": chosen.k, "links": chosen.links, "directions": chosen.directions}


def _unlikely(cosines: Tensor, batch: Batch, recipe: Recipe) -> Tensor:
    """Compute (P,) similarities of the least likely links of each positive."""
    sets = {name: value for name, value in _sets(recipe).items() if name != "links"}
    counts = batch.sentence_counts[: batch.positives], batch.image_counts[: batch.positives]
    return negative_similarities(cosines, *counts, **sets)


def _sub_documents(cosines: Tensor, batch: Batch, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Compute (P,) similarities of a random part of each positive with itself."""
    p_sub, positives = recipe.objective.p_sub, batch.positives
    sentences, sentence_counts = draw_members(batch.sentence_counts[:positives], p_sub, generator)
    images, image_counts = draw_members(batch.image_counts[:positives], p_sub, generator)
    part = cosines[sentences.to(cosines.device)][:, images.to(cosines.device)]
    return own_similarities(part, sentence_counts, image_counts, **_sets(recipe))
