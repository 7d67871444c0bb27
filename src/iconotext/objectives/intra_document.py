"""The intra-document objective of Li 2021, Eq. 2: a document's likely links against its unlikely ones."""

from __future__ import annotations

from torch import Tensor

from iconotext.errors import ShapeError


def intra_document(likely: Tensor, unlikely: Tensor, *, margin: float) -> Tensor:
    """max(0, margin - likely + unlikely): unlikely links are to be less similar than likely ones, by the margin.

    Args:
        likely: (P,) float, similarity of each document with itself, TK(M) or another one.
        unlikely: (P,) float, of the least likely links of the same matrix; see
            ``similarity.sets.negative_similarities``.
        margin: 0 or more; half of that of the cross-document objective in the paper.

    Returns:
        (P,) losses, 0 or more. A document with one sentence and one image has the loss ``margin``, and gradient 0.

    Raises:
        ShapeError: They are of different numbers of documents.
    """
    if likely.ndim != 1 or likely.shape != unlikely.shape:
        raise ShapeError(f"likely are {tuple(likely.shape)}, unlikely {tuple(unlikely.shape)}; one number a document")
    return (margin - likely + unlikely).relu()
