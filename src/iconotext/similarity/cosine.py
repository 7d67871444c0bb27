"""Similarity of every sentence with every image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import ShapeError

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def cosine_similarity(sentences: FloatMatrix, images: FloatMatrix) -> FloatMatrix:
    """Cosine of every sentence with every image.

    Args:
        sentences: (S, d) float, one unit vector a row. A row of zeros has the cosine 0 with everything.
        images: (V, d) float, likewise.

    Returns:
        (S, V) float32, -1 to 1: cell (i, j) is the cosine of sentence i and image j. (0, V) or (S, 0) where a side
        is empty.

    Raises:
        ShapeError: One of them is no matrix, or their widths differ.
    """
    if np.ndim(sentences) != 2 or np.ndim(images) != 2 or sentences.shape[1] != images.shape[1]:
        raise ShapeError(
            f"sentences and images must be (n, d) with the same d, got {np.shape(sentences)} and {np.shape(images)}"
        )
    product = np.asarray(sentences, np.float32) @ np.asarray(images, np.float32).T
    # Rounding may pass 1 by a few units in the last place, and an arccosine or a calibration would stumble over it.
    similarity: FloatMatrix = np.clip(product, -1.0, 1.0, out=product)
    return similarity
