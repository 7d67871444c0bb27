"""The text backbone in the package for fourteen languages beside English, whose vectors lie in the space of MiniLM.

It is Google's universal sentence encoder, multilingual v3 (Yang et al., Multilingual universal sentence encoder for
semantic retrieval, ACL 2020), and a map from its vectors to those that MiniLM makes of English. Begin with
``load_use``. The table of pieces stays packed in memory, and rows are unpacked for each batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.backbone import TextBackbone
from iconotext.features.e5 import load_e5
from iconotext.features.minilm import DIM
from iconotext.features.model_folder import shipped_folder
from iconotext.features.token_network import TokenNetwork

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from iconotext.features.token_network import Embeddings

NAME = "use-78127565"
"""Name of the backbone with a digest of weights and map: equal names mean equal features."""

LANGUAGES = frozenset(("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"))
"""Languages that it was trained on, Chinese in both scripts, so they count as sixteen."""


def load_use() -> TextBackbone:
    """Load the backbone, with the one for more languages beside it."""
    return TextBackbone(NAME, DIM, NETWORK.encode, LANGUAGES, other=load_e5())


def load_table(weights: Path) -> Embeddings:
    """Load the table of pieces.

    A piece has whole numbers of 6 bits, counted from its lowest, ``low``. ``table`` has the lower 4 bits in the piece's
    ``row``, the first half of the numbers in the lower half of each byte; ``more`` has the upper 2 bits of the last
    rows, others have none. Step and zero are those of the piece's number modulo the number of steps.
    """
    from safetensors import safe_open

    with safe_open(weights, "numpy") as stored:
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


NETWORK = TokenNetwork(shipped_folder("use"), 512, 256, load_table)
