"""Hashes words and runs of words to numbers, without a vocabulary: the wording of a text.

Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009 (without the sign).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

LONGEST = 3
"""Words in the longest run."""

_WORD = re.compile(r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]")


def hashed_runs(text: str, buckets: int) -> list[int]:
    """The hashes, ascending and without repetitions, of a text's words and runs of up to three words.

    Case is ignored; punctuation marks are words; the beginning and end of the text count as words in runs, since they
    show the kind of text.

    Args:
        buckets: Number of different hashes; runs may collide.
    """
    words = ["<", *(word.lower() for word in _WORD.findall(text)), ">"]
    runs = {
        " ".join(words[start : start + length])
        for length in range(1, LONGEST + 1)
        for start in range(len(words) - length + 1)
    } - {"<", ">"}
    return sorted({zlib.crc32(run.encode("utf-8", "surrogatepass")) % buckets for run in runs})


def word_logits(texts: Sequence[str], rarity: NDArray[np.float32], words: FloatMatrix) -> FloatMatrix:
    """(N, R) log-odds of N texts from their runs: each run weighted by its rarity, scaled to length 1 per text.

    Args:
        rarity: (B,) weight of each of B hashes.
        words: (B, R) log-odds of each hash for R relations.
    """
    found = np.zeros((len(texts), words.shape[1]), np.float32)
    for row, text in enumerate(texts):
        runs = hashed_runs(text, len(words))
        weights = rarity[runs]
        found[row] = weights @ words[runs] / (np.sqrt(weights @ weights) or 1)
    return found
