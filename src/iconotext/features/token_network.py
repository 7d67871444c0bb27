"""The text backbones in the package for other languages than English, whose vectors lie in the space of MiniLM.

``USE`` is Google's universal sentence encoder, multilingual v3 (Yang et al., Multilingual universal sentence encoder
for semantic retrieval, ACL 2020), for fourteen languages beside English. ``E5`` is Microsoft's multilingual-e5-small
(Wang et al., Multilingual E5 text embeddings, 2024), a BERT of 12 layers with mean pooling, for some seventy more; of
its 250,000 pieces those stay that are frequent in these languages. Each is a ``TokenNetwork``, from the embeddings of
the tokens of texts to vectors, with a map from these to those that MiniLM makes of English; ``run_on_tokens`` runs it
in batches. Begin with ``load_others``.
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

from iconotext.features.backbone import TextBackbone
from iconotext.features.minilm import DIM
from iconotext.features.model_folder import shipped_folder
from iconotext.features.runtime import WEIGHTS, Graph, open_graph
from iconotext.similarity import unit_rows
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


USE_LANGUAGES = frozenset(("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"))
"""Languages that it was trained on, Chinese in both scripts, so they count as sixteen."""

E5_LANGUAGES = frozenset(
    "af am ar as az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it jv ka kk "
    "km kn ku ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru sd si sk sl so sq sr sv sw ta te tl tr "
    "ug uk ur uz vi xh".split()
)
"""Languages that it was trained on, but for those whose letters were left out with their pieces."""


def _use_table(weights: Path) -> Embeddings:
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


def _e5_table(weights: Path) -> Embeddings:
    """Load the table of pieces.

    Eight numbers side by side are one of 256 groups of eight: for each of 48 places, ``codes`` has a piece's group and
    ``groups`` the numbers of each (product quantisation).
    """
    from safetensors import safe_open

    with safe_open(weights, "numpy") as stored:
        codes, groups = stored.get_tensor("codes"), stored.get_tensor("groups").astype(np.float32)
    places = np.arange(len(groups))
    return lambda ids: groups[places, codes[ids]].reshape(*ids.shape, len(places) * groups.shape[-1])


USE = TokenNetwork(shipped_folder("use"), 512, 256, _use_table)

E5 = TokenNetwork(shipped_folder("e5"), 384, 128, _e5_table, "query: ")


def load_others() -> TextBackbone:
    """Load the backbone for the languages of ``USE_LANGUAGES``, with the one for those of ``E5_LANGUAGES`` beside it.

    Their names have a digest of weights and map: equal names mean equal features.
    """
    e5 = TextBackbone("e5-80439466", DIM, E5.encode, E5_LANGUAGES)
    return TextBackbone("use-78127565", DIM, USE.encode, USE_LANGUAGES, other=e5)
