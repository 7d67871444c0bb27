"""Words and runs of words as numbers, without a list of them: what a text says literally.

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
    """Numbers, ascending and each once, of the words and runs of up to three words that a text has.

    Upper and lower case are one; marks of punctuation are words; the begin and the end of the text count as words in
    runs, since how a text opens and closes tells what kind it is.

    Args:
        buckets: How many numbers there are; runs may share one.
    """
    words = ["<", *(word.lower() for word in _WORD.findall(text)), ">"]
    runs = {
        " ".join(words[start : start + length])
        for length in range(1, LONGEST + 1)
        for start in range(len(words) - length + 1)
    } - {"<", ">"}
    return sorted({zlib.crc32(run.encode("utf-8", "surrogatepass")) % buckets for run in runs})


def word_logits(texts: Sequence[str], rarity: NDArray[np.float32], words: FloatMatrix) -> FloatMatrix:
    """(N, R) what the runs of N texts say: each run by its rarity, all of a text as a vector of length 1.

    Args:
        rarity: (B,) weight of each of B numbers of runs.
        words: (B, R) what each says of R things.
    """
    found = np.zeros((len(texts), words.shape[1]), np.float32)
    for row, text in enumerate(texts):
        runs = hashed_runs(text, len(words))
        weights = rarity[runs]
        found[row] = weights @ words[runs] / (np.sqrt(weights @ weights) or 1)
    return found
