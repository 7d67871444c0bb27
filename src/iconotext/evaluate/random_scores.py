"""The random baseline."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def random_scores(identifier: str, sentences: int, images: int, *, seed: int = 0) -> FloatMatrix:
    """Scores that know nothing.

    Args:
        identifier: Name of the document: it decides the numbers, so that they depend neither on the order of the
            documents nor on how many there are.

    Returns:
        (sentences, images) float32, evenly spread over 0 to 1.
    """
    digest = hashlib.sha256(f"{seed}\0{identifier}".encode("utf-8", "surrogatepass")).digest()
    random = np.random.default_rng(int.from_bytes(digest[:16], "little"))
    return random.random((sentences, images), dtype=np.float32)
