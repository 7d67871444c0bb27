"""The text backbone in the package, ``MiniLM``: all-MiniLM-L6-v2 in 8 bits, a BERT with mean pooling."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.model_folder import shipped_folder
from iconotext.features.runtime import WEIGHTS, chosen_runtime, open_graph
from iconotext.system.threads import on_cores

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from iconotext.types import FloatMatrix

    Network = Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.float32]]

FOLDER = shipped_folder("minilm")
NAME = "minilm-6dbf529c"
"""Name of the backbone with a digest of the weights: equal names mean equal features, whatever computes them."""

CLASS_VECTORS = FOLDER / "imagenet_classes.npy"
"""File with (1000, dim) vectors of the names in ``imagenet_classes``, computed with these weights."""

ENGLISH = frozenset(("en",))
"""The language on which it was trained."""

DIM, LAYERS, HEADS, EPSILON = 384, 6, 12, 1e-12
LONGEST = 256
"""Maximum number of tokens of a text that are used."""

TOKENS = 384
"""Tokens in a batch, with padding: they fit a core's cache, and a short document keeps all cores busy."""

STEPS = ((64, 4), (128, 16), (LONGEST, 32))
"""(length, multiple): texts of up to ``length`` tokens are padded to a multiple of ``multiple``."""


class MiniLM:
    """Encodes texts of up to 256 tokens as vectors of 384 numbers.

    The vector of a text does not depend on other texts in its batch: its padded length depends on itself alone, and a
    batch has texts of one length. The weights are loaded when the first text has to be encoded, so that runs with all
    texts in the cache do not need them.
    """

    name = NAME
    dim = DIM

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Compute (n, dim) float32 unit vectors; longer texts are cut after ``LONGEST`` tokens."""
        return self._encoded(texts, None)

    def with_layers(self, texts: Sequence[str]) -> tuple[FloatMatrix, NDArray[Any]]:
        """Compute the same vectors, and the mean over each text's tokens of the embeddings and of every layer.

        They are (n, dim) float32, and (n, (layers + 1) * dim) float16, which is precise enough for the cache.
        """
        layers = np.zeros((len(texts), (LAYERS + 1) * DIM), np.float16)
        return self._encoded(texts, layers), layers

    def _encoded(self, texts: Sequence[str], layers: NDArray[np.float16] | None) -> FloatMatrix:
        vectors = np.zeros((len(texts), DIM), np.float32)
        if not texts:
            return vectors
        network, cores = load_network(chosen_runtime())
        # A tokenizer fails on half a surrogate pair.
        encodings = load_tokenizer().encode_batch([text.encode("utf-8", "replace").decode() for text in texts])

        def work(batch: tuple[int, list[int]]) -> None:
            length, numbers = batch
            means = network(*_padded([encodings[row] for row in numbers], length))
            vectors[numbers] = means[:, LAYERS * DIM :]  # of the last layer
            if layers is not None:
                layers[numbers] = means

        batches = token_batches([len(encoding) for encoding in encodings])
        deque(on_cores(work, batches, cores=cores), maxlen=0)  # runs it to the end; ``work`` fills the arrays
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


@cache
def load_tokenizer() -> Tokenizer:
    """Load the tokenizer, which cuts texts after ``LONGEST`` tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()  # the file may ask for a fixed length
    return tokenizer


@cache
def load_network(runtime: str) -> tuple[Network, int | None]:
    """Load the network: a function from (n, t) tokens and mask to the means of every layer.

    Return with it the number of cores on which to run it, None for all.
    """
    if runtime == "onnx":
        graph = open_graph(FOLDER / "network.onnx")
        return lambda ids, mask: graph(ids=ids, mask=mask), None
    import torch

    from iconotext.features.eight_bits import Bert, load_weights
    from iconotext.features.runtime import best_device, full_precision

    device = best_device()
    weights = {name: tensor.to(device) for name, tensor in load_weights(FOLDER / WEIGHTS).items()}
    bert = Bert(weights, LAYERS, HEADS, EPSILON)

    def network(ids: NDArray[np.int32], mask: NDArray[np.int32]) -> NDArray[np.float32]:
        with full_precision(device):
            tensors = torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device).bool()
            means: NDArray[np.float32] = bert.layer_means(*tensors).cpu().numpy()
            return means

    return network, None if device.type == "cpu" else 1


def token_batches(lengths: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Group rows into batches of one padded length, long texts first, each row once.

    A padded length depends only on the text itself. A batch has at most ``TOKENS`` tokens, or one text.
    """
    # A length for each batch would change the last bits of a vector with the other texts of its batch.
    padded = [next(-(-length // step) * step for most, step in STEPS if length <= most) for length in lengths]
    for length in sorted(set(padded), reverse=True):
        rows = [row for row, size in enumerate(padded) if size == length]
        size = max(TOKENS // length, 1)
        yield from ((length, rows[at : at + size]) for at in range(0, len(rows), size))


def _padded(encodings: Sequence[Encoding], length: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    ids = np.zeros((len(encodings), length), np.int32)
    mask = np.zeros((len(encodings), length), np.int32)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding)] = encoding.ids
        mask[row, : len(encoding)] = 1
    return ids, mask
