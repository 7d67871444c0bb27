"""Runs a network that makes vectors of texts from the embeddings of their tokens: ``run_on_tokens``.

``open_tokenizer`` reads the tokenizer beside such a network.
"""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.system.threads import on_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from iconotext.features.runtime import Graph
    from iconotext.types import FloatMatrix

TOKENIZER = "tokenizer.json.gz"

TOKENS = 512
"""Tokens in a batch: their features fit a core's cache."""


def open_tokenizer(folder: Path, longest: int) -> Tokenizer:
    """Open the tokenizer in a folder; it cuts texts after ``longest`` tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(gzip.decompress((folder / TOKENIZER).read_bytes()))
    tokenizer.enable_truncation(longest)
    return tokenizer


def run_on_tokens(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    embeddings: Callable[[NDArray[Any]], NDArray[np.float32]],
    graph: Graph,
    output: str,
    dim: int,
) -> FloatMatrix:
    """Compute (n, dim) float32 vectors, an output of the graph.

    The vector of a text does not depend on other texts in its batch, which are as long, nor on the number of threads.

    Args:
        embeddings: Turns (n, t) tokens into the (n, t, width) input ``embeddings`` of the graph.
    """
    vectors = np.zeros((len(texts), dim), np.float32)
    # A tokenizer fails on half a surrogate pair.
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    tokens = [encoding.ids for encoding in tokenizer.encode_batch_fast(whole)]

    def work(rows: list[int]) -> None:
        # Two at least: with one row, onnxruntime multiplies in another order.
        ids = np.array([tokens[row] for row in (rows if len(rows) > 1 else rows * 2)])
        vectors[rows] = graph.run([output], {"embeddings": embeddings(ids)})[0][: len(rows)]

    deque(on_cores(work, batches([len(ids) for ids in tokens])), maxlen=0)  # ``work`` fills the array
    return vectors


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Group rows into batches of texts of one length, long ones first; of at most ``TOKENS`` tokens, or one text."""
    # Padding would change the last bits of a vector with the other texts of its batch.
    found = []
    for length, group in groupby(sorted(range(len(lengths)), key=lambda row: -lengths[row]), lengths.__getitem__):
        rows, size = list(group), max(TOKENS // length, 1)
        found += [rows[at : at + size] for at in range(0, len(rows), size)]
    return found
