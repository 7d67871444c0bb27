"""The text backbone in the package for other languages than English, whose vectors lie in the space of MiniLM.

It is Google's universal sentence encoder, multilingual v3 (Yang et al., Multilingual universal sentence encoder for
semantic retrieval, ACL 2020), and a map from its vectors to those that MiniLM makes of English. Begin with
``load_use``. The table of pieces stays packed in memory, and rows are unpacked for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.backbone import TextBackbone
from iconotext.features.e5 import load_e5
from iconotext.features.minilm import DIM
from iconotext.features.model_folder import shipped_folder
from iconotext.features.runtime import WEIGHTS, Graph, open_graph
from iconotext.features.token_network import open_tokenizer, run_on_tokens
from iconotext.similarity.vectors import unit_rows

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


def load_use() -> TextBackbone:
    """Load the backbone; its weights are loaded when the first text has to be encoded."""
    return TextBackbone(NAME, DIM, encode, LANGUAGES, other=load_e5())


def encode(texts: Sequence[str]) -> FloatMatrix:
    """Compute (n, dim) float32 unit vectors; longer texts are cut after ``LONGEST`` tokens."""
    return unit_rows(_computed(texts, "vectors", DIM))


def unmapped(texts: Sequence[str]) -> FloatMatrix:
    """Compute (n, ``WIDTH``) float32 unit vectors before the map, those of the original."""
    return _computed(texts, "unmapped", WIDTH)


def _computed(texts: Sequence[str], output: str, dim: int) -> FloatMatrix:
    if not texts:
        return np.zeros((0, dim), np.float32)
    return run_on_tokens(texts, load_tokenizer(), load_table(), load_graph(), output, dim)


@cache
def load_graph() -> Graph:
    """Open the network, from (n, t, 512) embeddings of tokens to (n, dim) vectors of any length, and unmapped ones."""
    return open_graph(FOLDER / "network.onnx")


@cache
def load_tokenizer() -> Tokenizer:
    """Load the tokenizer, which cuts texts after ``LONGEST`` tokens."""
    return open_tokenizer(FOLDER, LONGEST)


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
