"""The words and runs of words of many texts as sparse rows, to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.embed.word_hashes import hashed_runs

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
