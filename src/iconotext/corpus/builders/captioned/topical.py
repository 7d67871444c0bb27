"""Groups of photographs that are close to each other, as those of one album are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def topical_groups(order: Sequence[int], vectors: FloatMatrix, size: int) -> list[list[int]]:
    """Greedy nearest neighbours: the first photograph that is left takes the closest others with it.

    Closeness is the cosine after subtraction of the mean over all of them. The first groups are the closest; the last
    ones are made of what is left.

    Args:
        order: Numbers of photographs, in the order in which they may choose.
        vectors: (photographs, d), indexed by these numbers.

    Returns:
        Groups of numbers, each beginning with the one that chose, then by falling closeness; fewer than ``size`` that
        are left at the end are in none.
    """
    if len(order) < size:
        return []
    unit = vectors[np.asarray(order, dtype=np.intp)].astype(np.float32)
    unit -= unit.mean(axis=0)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    numbers = np.asarray(order, dtype=np.intp)  # of the photographs that ``unit`` has rows for
    left = np.ones(len(numbers), dtype=bool)
    groups: list[list[int]] = []
    while (remaining := int(left.sum())) >= size:
        if remaining < len(left) // 2:  # rows of photographs that are taken cost time
            numbers, unit, left = numbers[left], unit[left], np.ones(remaining, dtype=bool)
        first = int(left.argmax())
        closeness = unit @ unit[first]
        closeness[~left] = -np.inf
        closeness[first] = np.inf
        nearest = np.argpartition(-closeness, size - 1)[:size]
        nearest = nearest[np.lexsort((nearest, -closeness[nearest]))]
        left[nearest] = False
        groups.append([int(number) for number in numbers[nearest]])
    return groups
