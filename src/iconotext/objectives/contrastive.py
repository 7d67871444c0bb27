"""The contrastive objectives, which compare a document with negatives: ``hinge``, ``softmax`` and ``logistic``.

``sample_negatives`` and ``draw_single_pairs`` draw their inputs; ``loss_without_information`` is the loss if all
similarities are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from iconotext.errors import ShapeError
from iconotext.similarity.cells import Axis, Counts, axis_of


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """The positives with their negatives, in one direction.

    Attributes:
        similarities: (P, D): of the sentences of document i with the images of document j, or the reverse.
        negatives: (P, D) bool, which of them are negatives.
    """

    similarities: Tensor
    negatives: Tensor


def directions(
    similarities: Tensor, image_negatives: Tensor, sentence_negatives: Tensor, sub_similarities: Tensor | None = None
) -> tuple[Tensor, tuple[Direction, Direction]]:
    """The (P,) similarities of the positives, and the two directions: sentences to images, images to sentences.

    Args:
        similarities: (D, D) float, [i, j] of the sentences of document i with the images of document j.
        image_negatives: (P, D) bool, [i, j] whether the images of j are negatives for the sentences of i; P ≤ D.
        sentence_negatives: (P, D) bool, [i, j] whether the sentences of j are negatives for the images of i.
        sub_similarities: (P,) similarities of the positives' sub-documents, used instead of the diagonal.

    Raises:
        ShapeError: The shapes do not fit, a mask is not bool, or a document is its own negative.
    """
    documents = len(similarities)
    if similarities.shape != (documents, documents):
        raise ShapeError(f"similarities must be (documents, documents), got {tuple(similarities.shape)}")
    if image_negatives.shape != sentence_negatives.shape:
        raise ShapeError(
            f"image_negatives are {tuple(image_negatives.shape)}, sentence_negatives "
            f"{tuple(sentence_negatives.shape)}; they must have the same shape"
        )
    for name, mask in (("image_negatives", image_negatives), ("sentence_negatives", sentence_negatives)):
        if mask.ndim != 2 or mask.shape[1] != documents or mask.shape[0] > documents:
            raise ShapeError(
                f"{name} are {tuple(mask.shape)}, they must be (positives, {documents}) with at most {documents} "
                "positives"
            )
        if mask.dtype != torch.bool:
            raise ShapeError(f"{name} must be bool, got {mask.dtype}")
    repeated = (image_negatives.diagonal() | sentence_negatives.diagonal()).nonzero()
    if len(repeated):
        raise ShapeError(f"document {int(repeated[0])} is its own negative")
    positives = len(image_negatives)
    if sub_similarities is None:
        sub_similarities = similarities.diagonal()[:positives]
    elif sub_similarities.shape != (positives,):
        raise ShapeError(f"sub_similarities are {tuple(sub_similarities.shape)}, there are {positives} positives")
    return sub_similarities, (
        Direction(similarities[:positives], image_negatives),
        Direction(similarities[:, :positives].t(), sentence_negatives),
    )


def sample_negatives(
    positives: int, documents: int, b: int | None, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """For each positive, b other documents whose images, and b others whose sentences, are its negatives.

    Args:
        positives: P, the first documents of the batch.
        documents: D, all documents of the batch, P or more: those beyond P serve as negatives only.
        b: Negatives in each direction, from 1, drawn without replacement and for each direction anew; None for all.

    Returns:
        image_negatives and sentence_negatives, (P, D) bool, no document its own negative.
    """
    if not 0 <= positives <= documents:
        raise ShapeError(f"{positives} positives among {documents} documents: they must be some of them")
    everyone = torch.ones(positives, documents, dtype=torch.bool, device=generator.device)
    allowed = everyone.fill_diagonal_(False) if everyone.numel() else everyone
    if b is None:
        return allowed, allowed.clone()
    if b > documents - 1:
        raise ShapeError(
            f"b = {b} negatives need {b + 1} documents in a step, there are {documents}; put more documents into a "
            "step, or lower b"
        )
    return _draw(allowed, b, generator), _draw(allowed, b, generator)


def _draw(allowed: Tensor, b: int, generator: torch.Generator) -> Tensor:
    keys = torch.rand(allowed.shape, generator=generator, device=generator.device).masked_fill(~allowed, 2.0)
    drawn = torch.zeros_like(allowed)
    return drawn.scatter_(1, keys.argsort(dim=1)[:, :b], True)


def draw_single_pairs(
    sentence_counts: Counts, image_counts: Counts, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw a random sentence and a random image of each document; their cosine is the document's similarity.

    The similarities of a batch of D documents are ``cosines[sentence_index][:, image_index]`` or, with less work, the
    cosines of only the drawn vectors; any objective can be used with them.

    Args:
        sentence_counts: (D,) sentences of each document, 1 or more.
        image_counts: (D,) images of each document, 1 or more.

    Returns:
        (D,) int64 row of each drawn sentence among the sentences of all documents, and (D,) int64 of each drawn image
        among all images, on the device of the generator.
    """
    sentences, images = axis_of(sentence_counts, "sentences"), axis_of(image_counts, "images")
    if len(sentences) != len(images):
        raise ShapeError(f"sentence counts of {len(sentences)} documents, image counts of {len(images)}")
    return _draw_pair(sentences, generator), _draw_pair(images, generator)


def _draw_pair(axis: Axis, generator: torch.Generator) -> Tensor:
    counts, starts = (torch.from_numpy(numbers).to(generator.device) for numbers in (axis.counts, axis.starts))
    # 53 random bits: the bias towards any member is negligible, and no product is rounded up to the count.
    share = torch.rand(len(axis), dtype=torch.float64, generator=generator, device=generator.device)
    return starts + (share * counts).long()


Negatives = Literal["hardest", "mean"]
"""``hardest``: only the negative that violates the margin most counts; ``mean``: the mean over all negatives."""


def hinge(
    similarities: Tensor,
    image_negatives: Tensor,
    sentence_negatives: Tensor,
    *,
    margin: float = 0.2,
    negatives: Negatives,
    sub_similarities: Tensor | None = None,
) -> Tensor:
    """Sum over both directions of max(0, margin - positive + negative), for the hardest negative or their mean.

    The loss is 0 in a direction in which a document has no negatives. The other arguments
    are those of ``directions``.

    Args:
        margin: By how much a positive is to exceed its negatives, 0 or more; if all similarities are equal, the loss is
            2 * margin.

    Returns:
        (P,) losses of the first P documents, 0 or more. Where several negatives are the hardest, one gets the gradient.
    """
    positives, both = directions(similarities, image_negatives, sentence_negatives, sub_similarities)
    losses = torch.zeros_like(positives)
    if not losses.numel():
        return losses
    for direction in both:
        violations = (margin - positives[:, None] + direction.similarities).relu()
        violations = violations.where(direction.negatives, 0.0)  # 0 is the least there is
        if negatives == "hardest":
            losses = losses + violations.max(dim=1).values
        else:
            losses = losses + violations.sum(dim=1) / direction.negatives.sum(dim=1).clamp(min=1)
    return losses


def softmax(
    similarities: Tensor,
    image_negatives: Tensor,
    sentence_negatives: Tensor,
    *,
    scale: float | Tensor,
    sub_similarities: Tensor | None = None,
) -> Tensor:
    """Mean over both directions of -log(exp(scale * positive) / (that + sum over negatives of exp(scale * negative))).

    The two directions are averaged, as in CLIP (Radford 2021), not summed as in the hinge of Hessel 2019. The loss is 0
    in a direction in which a document has no negatives. The other arguments are those of ``directions``.

    Args:
        scale: Factor on the similarities, above 0: 1 / temperature. A tensor, () float, may be learned.

    Returns:
        (P,) losses of the first P documents, 0 or more.
    """
    positives, both = directions(similarities, image_negatives, sentence_negatives, sub_similarities)
    losses = torch.zeros_like(positives)
    for direction in both:
        wrong = (direction.similarities * scale).masked_fill(~direction.negatives, -torch.inf)
        right = positives * scale
        losses = losses + (torch.cat([right[:, None], wrong], dim=1).logsumexp(dim=1) - right) / 2
    return losses


def logistic(
    similarities: Tensor,
    image_negatives: Tensor,
    sentence_negatives: Tensor,
    *,
    scale: float | Tensor,
    bias: float | Tensor,
    sub_similarities: Tensor | None = None,
) -> Tensor:
    """-log σ(scale * positive + bias), minus half the sum over the negatives of log σ(-(scale * negative + bias)).

    Half, because if all other documents are negatives, every pair of documents is a negative twice: as images for
    sentences and as sentences for images. So the mean over documents is the loss of SigLIP (Zhai 2023). The sum grows
    with the number of negatives; the bias, initially -10 in SigLIP, compensates for that. The other arguments
    are those of ``directions``.

    Args:
        scale: Factor on the similarities, above 0. A tensor, () float, may be learned.
        bias: Log-odds of a pair with similarity 0. A tensor, () float, may be learned.

    Returns:
        (P,) losses of the first P documents, 0 or more.
    """
    positives, both = directions(similarities, image_negatives, sentence_negatives, sub_similarities)
    losses = softplus(-(positives * scale + bias))
    for direction in both:
        wrong = softplus(direction.similarities * scale + bias)
        losses = losses + wrong.where(direction.negatives, torch.zeros_like(wrong)).sum(dim=1) / 2
    return losses


def loss_without_information(
    image_negatives: Tensor, sentence_negatives: Tensor, *, kind: str, margin: float
) -> Tensor:
    """(P,) the smallest loss of each positive with equal similarities.

    - ``hinge``: the margin in each direction, 2 * margin (Hessel 2019, Eq. 1), for the hardest negative and for their
      mean.
    - ``softmax``: log(1 + n), n the number of negatives, whatever the scale.
    - ``logistic``: log(1 + n) + n * log(1 + 1 / n), where scale * similarity + bias = -log(n), the true log-odds.
    """
    positives, documents = image_negatives.shape
    alike = torch.zeros((documents, documents), dtype=torch.float64, device=image_negatives.device)
    masks = (image_negatives, sentence_negatives)
    if kind == "hinge":
        return hinge(alike, *masks, margin=margin, negatives="mean")
    if kind == "softmax":
        return softmax(alike, *masks, scale=1.0)
    mean = float((image_negatives.sum() + sentence_negatives.sum()) / (2 * max(positives, 1)))
    return logistic(alike, *masks, scale=1.0, bias=-math.log(mean) if mean else 100.0)
