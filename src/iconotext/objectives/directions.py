"""The similarities of a batch, from the side of the sentences and from the side of the images."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from iconotext.errors import ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """Every positive with its negatives, in one direction.

    Attributes:
        similarities: (P, D): of the sentences of document i with the images of document j, or the reverse.
        negatives: (P, D) bool, which of them are negatives.
    """

    similarities: Tensor
    negatives: Tensor


def directions(
    similarities: Tensor, image_negatives: Tensor, sentence_negatives: Tensor, own: Tensor | None = None
) -> tuple[Tensor, tuple[Direction, Direction]]:
    """The (P,) similarities of the positives, and the two directions: sentences to images, images to sentences.

    Args:
        similarities: (D, D) float, [i, j] of the sentences of document i with the images of document j.
        image_negatives: (P, D) bool, [i, j] whether the images of j are negatives for the sentences of i; P ≤ D.
        sentence_negatives: (P, D) bool, [i, j] whether the sentences of j are negatives for the images of i.
        own: (P,) the positives' similarities to use instead of the diagonal: those of their sub-documents.

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
    both = (image_negatives.diagonal() | sentence_negatives.diagonal()).nonzero()
    if len(both):
        raise ShapeError(f"document {int(both[0])} is its own negative")
    positives = len(image_negatives)
    if own is None:
        own = similarities.diagonal()[:positives]
    elif own.shape != (positives,):
        raise ShapeError(f"own similarities are {tuple(own.shape)}, there are {positives} positives")
    return own, (
        Direction(similarities[:positives], image_negatives),
        Direction(similarities[:, :positives].t(), sentence_negatives),
    )
