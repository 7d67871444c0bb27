"""Unit vectors: the dot product of two of them is their cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def unit_rows(vectors: FloatMatrix) -> FloatMatrix:
    """(n, dim) rows scaled to length 1; rows of zeros stay."""
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
