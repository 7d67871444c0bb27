"""The text backbone in the package for some seventy more languages, whose vectors lie in the space of MiniLM.

It is Microsoft's multilingual-e5-small (Wang et al., Multilingual E5 text embeddings, 2024), a BERT of 12 layers with
mean pooling, and a map from its vectors to those that MiniLM makes of English. Begin with ``load_e5``. Of its 250,000
pieces those stay that are frequent in these languages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.backbone import TextBackbone
from iconotext.features.minilm import DIM
from iconotext.features.model_folder import shipped_folder
from iconotext.features.runtime import WEIGHTS, Graph, open_graph
from iconotext.features.token_network import open_tokenizer, run_on_tokens
from iconotext.similarity.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from iconotext.types import FloatMatrix

FOLDER = shipped_folder("e5")
NAME = "e5-523c66e4"
"""Name of the backbone with a digest of weights and map: equal names mean equal features."""

LANGUAGES = frozenset(
    "af am ar as az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it jv ka kk "
    "km kn ku ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru sd si sk sl so sq sr sv sw ta te tl tr "
    "ug uk ur uz vi xh".split()
)
"""Languages that it was trained on, but for those whose letters were left out with their pieces."""

WIDTH = 384
"""Length of the embedding of a piece, and of a vector before the map."""

LONGEST = 128
"""Maximum number of tokens of a text that are used, with those of the prefix."""

PREFIX = "query: "
"""Stands before every text, as in training."""


def load_e5() -> TextBackbone:
    """Load the backbone; its weights are loaded when the first text has to be encoded."""
    return TextBackbone(NAME, DIM, encode, LANGUAGES)


def encode(texts: Sequence[str]) -> FloatMatrix:
    """Compute (n, dim) float32 unit vectors; longer texts are cut after ``LONGEST`` tokens."""
    return unit_rows(_computed(texts, "vectors", DIM))


def unmapped(texts: Sequence[str]) -> FloatMatrix:
    """Compute (n, ``WIDTH``) float32 unit vectors before the map."""
    return _computed(texts, "unmapped", WIDTH)


def _computed(texts: Sequence[str], output: str, dim: int) -> FloatMatrix:
    if not texts:
        return np.zeros((0, dim), np.float32)
    prefixed = [PREFIX + text for text in texts]
    return run_on_tokens(prefixed, load_tokenizer(), load_table(), load_graph(), output, dim)


@cache
def load_graph() -> Graph:
    """Open the network, from (n, t, 384) embeddings of tokens to (n, dim) vectors of any length, and unmapped ones."""
    return open_graph(FOLDER / "network.onnx")


@cache
def load_tokenizer() -> Tokenizer:
    """Load the tokenizer, which cuts texts after ``LONGEST`` tokens."""
    return open_tokenizer(FOLDER, LONGEST)


@cache
def load_table() -> Callable[[NDArray[Any]], NDArray[np.float32]]:
    """Load the table of pieces: a function from tokens of any shape to their embeddings, with ``WIDTH`` as last side.

    Eight numbers side by side are one of 256 groups of eight: for each of 48 places, ``codes`` has a piece's group and
    ``groups`` the numbers of each (product quantisation).
    """
    from safetensors import safe_open

    with safe_open(FOLDER / WEIGHTS, "numpy") as stored:
        codes, groups = stored.get_tensor("codes"), stored.get_tensor("groups").astype(np.float32)
    places = np.arange(len(groups))
    return lambda ids: groups[places, codes[ids]].reshape(*ids.shape, WIDTH)
