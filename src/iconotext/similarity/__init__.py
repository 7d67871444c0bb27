"""Vectors of sentences and images to numbers that say how well they fit.

``cosine_similarity`` compares single sentences with single images, on arrays; the set similarities compare whole sets
of them, on PyTorch tensors with gradients, and are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from iconotext.similarity.cosine import cosine_similarity

if TYPE_CHECKING:
    from iconotext.similarity.assignment import Links
    from iconotext.similarity.bound import LinkBound
    from iconotext.similarity.sets import (
        Directions,
        SimilarityKind,
        negative_similarities,
        own_similarities,
        set_similarities,
        set_similarity,
    )

__all__ = [
    "Directions",
    "LinkBound",
    "Links",
    "SimilarityKind",
    "cosine_similarity",
    "negative_similarities",
    "own_similarities",
    "set_similarities",
    "set_similarity",
]

_HOMES = {
    "Directions": "sets",
    "LinkBound": "bound",
    "Links": "assignment",
    "SimilarityKind": "sets",
    "negative_similarities": "sets",
    "own_similarities": "sets",
    "set_similarities": "sets",
    "set_similarity": "sets",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"iconotext.similarity.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'iconotext.similarity' has no attribute {name!r}")
