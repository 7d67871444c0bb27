"""The loss of a batch: from encoders through cosines and set similarities to objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pkgutil import resolve_name

import torch
from torch import Tensor

from iconotext.objectives import CONTRASTS
from iconotext.objectives.contrastive import directions, loss_without_information, sample_negatives
from iconotext.objectives.within import coherence, draw_members, intra_document, posterior
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
    first = (torch.tensor([0, *numbers[: batch.positives - 1]]).cumsum(0) for numbers in counts)
    rows, columns = (index.to(batch.negative_mask.device) for index in first)
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
    """Compute (P,) the weighted sum of the recipe's objectives for each positive of a batch (Li 2021, Eq. 5).

    Single and labelled pairs are compared by their cosines, and have only the cross-document objective.
    """
    objective = recipe.objective
    if not objective.compares:
        return cosines.new_zeros(batch.positives)  # only the coherence objective is used
    documents, positives = len(batch.sentence_counts), batch.positives
    b = None if objective.b is None else min(objective.b, documents - 1)  # a small corpus has no more others
    drawn = sample_negatives(positives, documents, b, generator)
    negative_mask = batch.negative_mask[:positives]
    masks = [mask.to(negative_mask.device) & negative_mask for mask in drawn]
    similarities = cosines
    if not recipe.similarity.pairs:
        counts = batch.sentence_counts, batch.image_counts
        similarities = set_similarities(cosines, *counts, **recipe.similarity.model_dump())
    own, both = similarities.diagonal()[:positives], directions(similarities, *masks)

    row = CONTRASTS[objective.kind]
    function = resolve_name(row.function)
    mean = objective.negatives == "mean" or epoch < objective.mean_epochs

    def contrast(similarities_of_positives: Tensor, margin: float) -> Tensor:
        values = {"margin": margin, "negatives": "mean" if mean else "hardest", "scale": scale, "bias": bias}
        losses: Tensor = function(similarities_of_positives, both, **{name: values[name] for name in row.arguments})
        return losses

    losses = cosines.new_zeros(positives)
    own_counts = batch.sentence_counts[:positives], batch.image_counts[:positives]
    if objective.cross_document:
        losses = losses + objective.cross_document * contrast(own, objective.margin)
    if objective.intra_document:
        unlikely = negative_similarities(cosines, *own_counts, **recipe.similarity.model_dump(exclude={"links"}))
        losses = losses + objective.intra_document * intra_document(own, unlikely, margin=objective.margin / 2)
    if objective.sub_document:
        parts = _sub_documents(cosines, *own_counts, recipe, generator)
        losses = losses + objective.sub_document * contrast(parts, objective.margin / 2)
    if batch.posteriors is not None:
        losses = losses + objective.posterior * posterior(cosines, batch.posteriors, *own_counts, scale=scale)
    return losses


def no_information_losses(batch: Batch, recipe: Recipe) -> Tensor:
    """Compute (P,) the value of ``losses_of`` if everything is equally similar; see ``loss_without_information``.

    The intra-document objective of Li 2021, likely against unlikely links, then has half the margin.
    """
    objective, positives = recipe.objective, batch.positives
    negative_mask = batch.negative_mask[:positives]
    drawn = negative_mask
    if objective.b is not None:  # all negatives are alike, so the first ones do
        drawn = negative_mask & (negative_mask.cumsum(1) <= objective.b)
    least = partial(loss_without_information, drawn, drawn, kind=objective.kind)
    margin = objective.margin
    extra = negative_mask.new_zeros(positives, dtype=torch.float32)
    if batch.posteriors is not None:
        counts = batch.sentence_counts[:positives], batch.image_counts[:positives]
        alike = extra.new_zeros(sum(batch.sentence_counts), sum(batch.image_counts))
        extra = objective.posterior * posterior(alike, batch.posteriors, *counts, scale=extra.new_ones(()))
    return (
        extra
        + objective.cross_document * least(margin=margin)
        + objective.sub_document * least(margin=margin / 2)
        + objective.intra_document * margin / 2
    )


def _sub_documents(
    cosines: Tensor,
    sentence_counts: Sequence[int],
    image_counts: Sequence[int],
    recipe: Recipe,
    generator: torch.Generator,
) -> Tensor:
    """Compute (P,) similarities of a random part of each positive with itself."""
    sentences, part_sentences = draw_members(sentence_counts, recipe.objective.p_sub, generator)
    images, part_images = draw_members(image_counts, recipe.objective.p_sub, generator)
    part = cosines[sentences.to(cosines.device)][:, images.to(cosines.device)]
    return own_similarities(part, part_sentences, part_images, **recipe.similarity.model_dump())
