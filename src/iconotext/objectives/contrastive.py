"""The contrastive objectives, which compare a document with negatives: hinge, softmax and logistic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from iconotext.similarity.cells import Axis, axis_of

Direction = tuple[Tensor, Tensor]
"""(P, D) similarities of the positives with all documents, and (P, D) bool, which of these are negatives."""


def directions(similarities: Tensor, image_negatives: Tensor, sentence_negatives: Tensor) -> list[Direction]:
    """Return the two directions of a contrast: sentences to images, images to sentences.

    Args:
        similarities: (D, D) float, [i, j] of the sentences of document i with the images of document j.
        image_negatives: (P, D) bool, [i, j] whether the images of j are negatives for the sentences of i; P ≤ D. No
            document is its own negative.
        sentence_negatives: (P, D) bool, [i, j] whether the sentences of j are negatives for the images of i.
    """
    positives = len(image_negatives)
    return [(similarities[:positives], image_negatives), (similarities[:, :positives].t(), sentence_negatives)]


def sample_negatives(
    positives: int, documents: int, b: int | None, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """For each positive, b other documents whose images, and b others whose sentences, are its negatives.

    Args:
        positives: P, the first documents of the batch.
        documents: D, all documents of the batch, P or more: those beyond P serve as negatives only.
        b: Negatives in each direction, 1 to D - 1, drawn without replacement and for each direction anew; None for all.

    Returns:
        image_negatives and sentence_negatives, (P, D) bool, no document its own negative.
    """
    allowed = ~torch.eye(positives, documents, dtype=torch.bool, device=generator.device)
    if b is None:
        return allowed, allowed.clone()
    return _draw(allowed, b, generator), _draw(allowed, b, generator)


def _draw(allowed: Tensor, b: int, generator: torch.Generator) -> Tensor:
    # The b smallest of random numbers are a draw without replacement; 2 is larger than all of them.
    keys = torch.rand(allowed.shape, generator=generator, device=generator.device).masked_fill(~allowed, 2.0)
    drawn = torch.zeros_like(allowed)
    return drawn.scatter_(1, keys.argsort(dim=1)[:, :b], True)


def draw_single_pairs(
    sentence_counts: Sequence[int], image_counts: Sequence[int], generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw a random sentence and a random image of each document; their cosine is the document's similarity.

    Args:
        sentence_counts: (D,) sentences of each document, 1 or more.
        image_counts: (D,) images of each document, 1 or more.

    Returns:
        (D,) int64 row of each drawn sentence among the sentences of all documents, and (D,) int64 of each drawn image
        among all images, on the device of the generator.
    """
    sentences, images = axis_of(sentence_counts, "sentences"), axis_of(image_counts, "images")
    return _draw_one(sentences, generator), _draw_one(images, generator)


def _draw_one(axis: Axis, generator: torch.Generator) -> Tensor:
    counts, starts = (torch.from_numpy(numbers).to(generator.device) for numbers in (axis.counts, axis.starts))
    # 53 random bits: the bias towards any member is negligible, and no product is rounded up to the count.
    share = torch.rand(len(axis), dtype=torch.float64, generator=generator, device=generator.device)
    return starts + (share * counts).long()


Negatives = Literal["hardest", "mean"]
"""``hardest``: only the negative that violates the margin most counts; ``mean``: the mean over all negatives."""


def hinge(positives: Tensor, both: list[Direction], *, margin: float = 0.2, negatives: Negatives) -> Tensor:
    """Sum over both directions of max(0, margin - positive + negative), for the hardest negative or their mean.

    The loss is 0 in a direction in which a document has no negatives.

    Args:
        positives: (P,) similarities of the first P documents with themselves, or of parts of them.
        both: See ``directions``.
        margin: By how much a positive is to exceed its negatives, 0 or more; if all similarities are equal, the loss is
            2 * margin.

    Returns:
        (P,) losses, 0 or more. Where several negatives are the hardest, one gets the gradient.
    """
    losses = torch.zeros_like(positives)
    for others, negative_mask in both:
        violations = (margin - positives[:, None] + others).relu()
        violations = violations.where(negative_mask, 0.0)  # 0 is the least there is
        if negatives == "hardest":
            losses = losses + violations.max(dim=1).values
        else:
            losses = losses + violations.sum(dim=1) / negative_mask.sum(dim=1).clamp(min=1)
    return losses


def softmax(positives: Tensor, both: list[Direction], *, scale: float | Tensor) -> Tensor:
    """Mean over both directions of -log(exp(scale * positive) / (that + sum over negatives of exp(scale * negative))).

    The two directions are averaged, as in CLIP (Radford 2021), not summed as in the hinge of Hessel 2019. The loss is 0
    in a direction in which a document has no negatives.

    Args:
        positives: See ``hinge``.
        both: See ``directions``.
        scale: Factor on the similarities, above 0: 1 / temperature. A tensor, () float, may be learned.

    Returns:
        (P,) losses, 0 or more.
    """
    losses = torch.zeros_like(positives)
    for others, negative_mask in both:
        wrong = (others * scale).masked_fill(~negative_mask, -torch.inf)
        right = positives * scale
        losses = losses + (torch.cat([right[:, None], wrong], dim=1).logsumexp(dim=1) - right) / 2
    return losses


def logistic(positives: Tensor, both: list[Direction], *, scale: float | Tensor, bias: float | Tensor) -> Tensor:
    """-log σ(scale * positive + bias), minus half the sum over the negatives of log σ(-(scale * negative + bias)).

    Half, because if all other documents are negatives, every pair of documents is a negative twice: as images for
    sentences and as sentences for images. So the mean over documents is the loss of SigLIP (Zhai 2023). The sum grows
    with the number of negatives; the bias, initially -10 in SigLIP, compensates for that.

    Args:
        positives: See ``hinge``.
        both: See ``directions``.
        scale: Factor on the similarities, above 0. A tensor, () float, may be learned.
        bias: Log-odds of a pair with similarity 0. A tensor, () float, may be learned.

    Returns:
        (P,) losses, 0 or more.
    """
    losses = softplus(-(positives * scale + bias))
    for others, negative_mask in both:
        # ``where`` and not a product: what is no negative has no gradient, even where it is not finite.
        wrong = softplus(others * scale + bias).where(negative_mask, 0.0)
        losses = losses + wrong.sum(dim=1) / 2
    return losses


def loss_without_information(
    image_negatives: Tensor, sentence_negatives: Tensor, *, kind: str, margin: float
) -> Tensor:
    """(P,) the smallest loss of each positive with equal similarities, for n negatives.

    - ``hinge``: the margin in each direction, 2 * margin (Hessel 2019, Eq. 1), for the hardest negative and for their
      mean.
    - ``softmax``: log(1 + n), whatever the scale.
    - ``logistic``: log(1 + n) + n * log(1 + 1 / n), where scale * similarity + bias = -log(n), the true log-odds. There
      is one bias for all positives, so it is that of their mean n.
    """
    positives, documents = image_negatives.shape
    alike = torch.zeros((documents, documents), dtype=torch.float64, device=image_negatives.device)
    own, both = alike.diagonal()[:positives], directions(alike, image_negatives, sentence_negatives)
    if kind == "hinge":
        return hinge(own, both, margin=margin, negatives="mean")
    if kind == "softmax":
        return softmax(own, both, scale=1.0)
    mean = float((image_negatives.sum() + sentence_negatives.sum()) / (2 * max(positives, 1)))
    return logistic(own, both, scale=1.0, bias=-math.log(mean) if mean else 100.0)  # at 100 a positive's loss is 0
