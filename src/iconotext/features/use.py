"""The text backbone in the package for other languages than English, whose vectors lie in the space of MiniLM.

It is Google's universal sentence encoder, multilingual v3 (Yang et al., Multilingual universal sentence encoder for
semantic retrieval, ACL 2020), and a map from its vectors to those that MiniLM makes of English. Begin with
``load_use``. The table of pieces stays packed in memory, and rows are unpacked for each batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.backbone import TextBackbone
from iconotext.features.minilm import DIM
from iconotext.features.model_folder import shipped_folder
from iconotext.features.runtime import WEIGHTS, Graph, open_graph
from iconotext.similarity.vectors import unit_rows
from iconotext.system.threads import on_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from iconotext.types import FloatMatrix

FOLDER = shipped_folder("use")
NAME = "use-78127565"
"""Name of the backbone with a digest of weights and map: equal names mean equal features."""

LANGUAGES = frozenset(("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"))
"""Languages that it was trained on, Chinese in both scripts, so they count as sixteen."""

WIDTH = 512
"""Length of the embedding of a piece, and of a vector before the map."""

LONGEST = 256
"""Maximum number of tokens of a text that are used, with the two at its ends."""

TOKENS = 512
"""Tokens in a batch: their features fit a core's cache."""


def load_use() -> TextBackbone:
    """Load the backbone; its weights are loaded when the first text has to be encoded."""
    return TextBackbone(NAME, DIM, encode, LANGUAGES)


def encode(texts: Sequence[str]) -> FloatMatrix:
    """Compute (n, dim) float32 unit vectors; longer texts are cut after ``LONGEST`` tokens.

    The vector of a text does not depend on other texts in its batch, which are as long, nor on the number of threads.
    """
    return unit_rows(_computed(texts, "vectors", DIM))


def unmapped(texts: Sequence[str]) -> FloatMatrix:
    """Compute (n, ``WIDTH``) float32 unit vectors before the map, those of the original."""
    return _computed(texts, "unmapped", WIDTH)


def _computed(texts: Sequence[str], output: str, dim: int) -> FloatMatrix:
    vectors = np.zeros((len(texts), dim), np.float32)
    if not texts:
        return vectors
    graph, embeddings = load_graph(), load_table()
    # A tokenizer fails on half a surrogate pair.
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    tokens = [encoding.ids for encoding in load_tokenizer().encode_batch_fast(whole)]

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


@cache
def load_graph() -> Graph:
    """Open the network, from (n, t, 512) embeddings of tokens to (n, dim) vectors of any length, and unmapped ones."""
    return open_graph(FOLDER / "network.onnx")


@cache
def load_tokenizer() -> Tokenizer:
    """Load the tokenizer, which cuts texts after ``LONGEST`` tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


@cache
def load_table() -> Callable[[NDArray[Any]], NDArray[np.float32]]:
    """Load the table of pieces: a function from tokens of any shape to their embeddings, with ``WIDTH`` as last side.

    A piece has whole numbers of 6 bits, counted from its lowest, ``low``. ``table`` has the lower 4 bits in the piece's
    ``row``, the first half of the numbers in the lower half of each byte; ``more`` has the upper 2 bits of the last
    rows, others have none. Step and zero are those of the piece's number modulo the number of steps.
    """
    from safetensors import safe_open

    with safe_open(FOLDER / WEIGHTS, "numpy") as stored:
        names = ("table", *(f"table.{part}" for part in ("row", "low", "more", "step", "zero")))
        table, row, low, more, step, zero = (stored.get_tensor(name) for name in names)

    def embeddings(ids: NDArray[Any]) -> NDArray[np.float32]:
        rows, chunk = row[ids], ids[..., None] % len(step)
        packed, among = table[rows], rows - (len(table) - len(more))
        numbers = np.concatenate([packed & 15, packed >> 4], axis=-1)
        upper = more[among[among >= 0]]
        numbers[among >= 0] += np.concatenate([(upper >> shift & 3) << 4 for shift in (0, 2, 4, 6)], axis=-1)
        numbers += low[ids][..., None]
        found: NDArray[np.float32] = numbers * step[chunk] + zero[chunk]
        return found

    return embeddings
