"""The random baseline."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def random_scores(identifier: str, sentences: int, images: int, *, seed: int = 0) -> FloatMatrix:
    """Random scores for a document.

    Args:
        identifier: Of the document; decides the numbers together with ``seed``, so that they do not depend on other
            documents or their order.

    Returns:
        (sentences, images) float32, uniform from 0 to 1.
    """
    digest = hashlib.sha256(f"{seed}\0{identifier}".encode("utf-8", "surrogatepass")).digest()
    random = np.random.default_rng(int.from_bytes(digest[:16], "little"))
    return random.random((sentences, images), dtype=np.float32)
