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
    from scipy.sparse import csr_array

LONGEST = 3
"""Words in the longest run."""

_WORD = re.compile(r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]")


def hashed_runs(text: str, buckets: int) -> list[int]:
    """Numbers, ascending and each once, of the words and runs of up to three words that a text has.

    Upper and lower case are one; marks of punctuation are words; the begin and the end of the text count as words in
    runs, since how a text opens and closes tells what kind it is.

    Args:
        text: Any text.
        buckets: How many numbers there are; runs may share one.
    """
    words = ["<", *(word.lower() for word in _WORD.findall(text)), ">"]
    runs = {
        " ".join(words[start : start + length])
        for length in range(1, LONGEST + 1)
        for start in range(len(words) - length + 1)
    } - {"<", ">"}
    return sorted({zlib.crc32(run.encode("utf-8", "surrogatepass")) % buckets for run in runs})


def hashed_texts(texts: Sequence[str], buckets: int) -> csr_array:
    """(n, buckets) float32 with a 1 wherever a text has a run of that number."""
    from scipy.sparse import csr_array

    rows = [hashed_runs(text, buckets) for text in texts]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], np.int64)
    return csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(texts), buckets))


def weighted_rows(counts: csr_array, weights: np.ndarray[tuple[int], np.dtype[np.float32]]) -> csr_array:
    """Columns times their weights, then rows of length 1; a row of zeros stays one."""
    from scipy.sparse import csr_array, diags_array

    rows = csr_array(counts @ diags_array(weights))
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
    return csr_array(diags_array((1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)) @ rows)
