"""``TokenNetwork``: a network from the embeddings of the tokens of texts to vectors, and a map of these vectors.

``run_on_tokens`` runs it in batches.
"""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.minilm import DIM
from iconotext.features.runtime import WEIGHTS, Graph, open_graph
from iconotext.similarity.vectors import unit_rows
from iconotext.system.threads import on_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from iconotext.types import FloatMatrix

    Embeddings = Callable[[NDArray[Any]], NDArray[np.float32]]

TOKENIZER = "tokenizer.json.gz"

TOKENS = 512
"""Tokens in a batch: their features fit a core's cache."""


@dataclass(frozen=True, eq=False)
class TokenNetwork:
    """An encoder of texts; its files are read when the first text has to be encoded.

    Attributes:
        folder: Has the graph, the weights and the tokenizer.
        width: Length of the embedding of a token, and of a vector before the map.
        longest: Maximum number of tokens of a text that are used, with those of prefix and ends; the rest is cut off.
        load_table: Reads the weights: a function from tokens of any shape to their embeddings, with ``width`` as last
            side.
        prefix: Stands before every text, as in training.
    """

    folder: Path
    width: int
    longest: int
    load_table: Callable[[Path], Embeddings]
    prefix: str = ""

    @cached_property
    def graph(self) -> Graph:
        """From (n, t, width) embeddings to (n, width) unit vectors ``unmapped`` and (n, dim) ``vectors``."""
        return open_graph(self.folder / "network.onnx")

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, which cuts texts after ``longest`` tokens."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_buffer(gzip.decompress((self.folder / TOKENIZER).read_bytes()))
        tokenizer.enable_truncation(self.longest)
        return tokenizer

    @cached_property
    def table(self) -> Embeddings:
        """The embeddings of tokens, see ``load_table``."""
        return self.load_table(self.folder / WEIGHTS)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Compute (n, dim) float32 unit vectors in the space of MiniLM."""
        return unit_rows(self._run(texts, "vectors", DIM))

    def unmapped(self, texts: Sequence[str]) -> FloatMatrix:
        """Compute (n, width) float32 unit vectors before the map, those of the original."""
        return self._run(texts, "unmapped", self.width)

    def _run(self, texts: Sequence[str], output: str, dim: int) -> FloatMatrix:
        prefixed = [self.prefix + text for text in texts]
        return run_on_tokens(prefixed, self.tokenizer, self.table, self.graph, output, dim)


def run_on_tokens(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    embeddings: Embeddings,
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
