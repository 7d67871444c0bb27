"""How many links a set similarity may count: k of the paper's top-k and assignment."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import SettingError

LinkBound = int | Literal["min", "half"]
"""``min``: as many as the smaller side has members; ``half``: half of that, rounded up; a number: that many, or as many
as the smaller side has where it has fewer."""


def number_of_links(k: LinkBound, sentences: NDArray[np.int64], images: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bound for every pair of a set of sentences and a set of images.

    Args:
        sentences: (P,) sizes of the sets of sentences, 1 or more.
        images: (Q,) sizes of the sets of images, 1 or more.

    Returns:
        (P, Q), from 1 to the size of the smaller side.

    Raises:
        SettingError: k is neither of the two words nor a whole number of 1 or more.
    """
    smaller: NDArray[np.int64] = np.minimum(sentences[:, None], images[None, :])
    if k == "min":
        return smaller
    if k == "half":
        return -(-smaller // 2)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise SettingError(f'k is {k!r}; it must be "min", "half" or a whole number of 1 or more')
    return np.minimum(smaller, k)
