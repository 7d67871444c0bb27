"""The text backbone in the package for some seventy more languages, whose vectors lie in the space of MiniLM.

It is Microsoft's multilingual-e5-small (Wang et al., Multilingual E5 text embeddings, 2024), a BERT of 12 layers with
mean pooling, and a map from its vectors to those that MiniLM makes of English. Begin with ``load_e5``. Of its 250,000
pieces those stay that are frequent in these languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.backbone import TextBackbone
from iconotext.features.minilm import DIM
from iconotext.features.model_folder import shipped_folder
from iconotext.features.token_network import TokenNetwork

if TYPE_CHECKING:
    from pathlib import Path

    from iconotext.features.token_network import Embeddings

NAME = "e5-523c66e4"
"""Name of the backbone with a digest of weights and map: equal names mean equal features."""

LANGUAGES = frozenset(
    "af am ar as az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it jv ka kk "
    "km kn ku ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru sd si sk sl so sq sr sv sw ta te tl tr "
    "ug uk ur uz vi xh".split()
)
"""Languages that it was trained on, but for those whose letters were left out with their pieces."""


def load_e5() -> TextBackbone:
    """Load the backbone."""
    return TextBackbone(NAME, DIM, NETWORK.encode, LANGUAGES)


def load_table(weights: Path) -> Embeddings:
    """Load the table of pieces.

    Eight numbers side by side are one of 256 groups of eight: for each of 48 places, ``codes`` has a piece's group and
    ``groups`` the numbers of each (product quantisation).
    """
    from safetensors import safe_open

    with safe_open(weights, "numpy") as stored:
        codes, groups = stored.get_tensor("codes"), stored.get_tensor("groups").astype(np.float32)
    places = np.arange(len(groups))
    return lambda ids: groups[places, codes[ids]].reshape(*ids.shape, len(places) * groups.shape[-1])


NETWORK = TokenNetwork(shipped_folder("e5"), 384, 128, load_table, "query: ")
