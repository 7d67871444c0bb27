"""The relation model: the probability of each coherence relation between a text and an image.

``load_relation_model`` loads a ``RelationModel``. It adds three terms: one of the text's layers in MiniLM
(``LayerMeans``), one of its wording (``word_logits``), and one of the image. The wording is hashed to numbers, without
a vocabulary: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009 (without the sign).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.encoders.stored_model import ABOUT, WEIGHTS
from iconotext.errors import FeatureError, ShapeError
from iconotext.features import TextBackbone, cached_text
from iconotext.features.cached_backbones import store_texts
from iconotext.features.minilm import DIM, LAYERS, MiniLM
from iconotext.features.model_folder import no_such_model, shipped_folder
from iconotext.networks.int8 import product
from iconotext.system.files import write_bytes
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.cache import FeatureCache
    from iconotext.types import FloatMatrix

LONGEST = 3
"""Largest number of words in a run."""

_WORD = re.compile(r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]")


def hashed_runs(text: str, buckets: int) -> list[int]:
    """Return the hashes of a text's words and runs of up to three words, ascending and without repetitions.

    Case is ignored; punctuation marks are words; the beginning and end of the text count as words in runs, since they
    show the kind of text.
    """
    words = ["<", *(word.lower() for word in _WORD.findall(text)), ">"]
    runs = {
        " ".join(words[start : start + length])
        for length in range(1, LONGEST + 1)
        for start in range(len(words) - length + 1)
    } - {"<", ">"}  # alone they are in every text
    return sorted({zlib.crc32(run.encode("utf-8", "surrogatepass")) % buckets for run in runs})


def word_logits(texts: Sequence[str], rarity: NDArray[np.float32], words: FloatMatrix) -> FloatMatrix:
    """Compute (N, R) log-odds of N texts from their runs, weighted by rarity and scaled to length 1 per text.

    Args:
        rarity: (B,) weight of each of B hashes.
        words: (B, R) log-odds of each hash for R relations.
    """
    logits = np.zeros((len(texts), words.shape[1]), np.float32)
    for row, text in enumerate(texts):
        runs = hashed_runs(text, len(words))
        weights = rarity[runs]
        logits[row] = weights @ words[runs] / (np.sqrt(weights @ weights) or 1)
    return logits


MEANS_KIND = "layer-means"
"""The kind under which the cache stores the means of layers."""

TEXTS = 2048
"""Texts whose layers are in memory at a time, when they are needed only to compute log-odds."""


class LayerMeans:
    """Computes the mean over a text's tokens in each layer of all-MiniLM-L6-v2, beginning with the embeddings.

    The weights are loaded when the first text has to be encoded.
    """

    def __init__(self, cache: FeatureCache | None = None) -> None:
        minilm = MiniLM()
        self.name = minilm.name
        self.dim = DIM * (LAYERS + 1)
        layers = TextBackbone(self.name, self.dim, lambda texts: minilm.with_layers(texts)[1])
        self._backbone = layers if cache is None else cached_text(layers, cache, kind=MEANS_KIND)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Compute (n, (layers + 1) * width) float32, rounded to 16 bits.

        Long texts are cut like in MiniLM.
        """
        return self._backbone.encode(texts).astype(np.float32)


KIND = "relations"
"""The kind under which the cache stores the log-odds of texts."""

LIMIT = 12.0
"""Limit of log-odds in either direction: no probability is beyond one in 160,000."""

ARRAYS = {"layers": "DR", "rarity": "B", "words": "BR", "bias": "R", "image": "PR", "image_bias": "R"}
"""The arrays and their shapes: D numbers of a text's layers, B buckets of word runs, P features of an image, R
relations."""


@dataclass(frozen=True, slots=True, eq=False)
class RelationWeights:
    """The weights of a relation model.

    Attributes:
        relations: Names of the R relations.
        arrays: float32; see ``ARRAYS`` for names and shapes.
        backbones: Names of the ``text`` and the ``image`` backbone whose features the model uses.

    Raises:
        ShapeError: An array has another shape, or a number in it is not finite.
    """

    relations: tuple[str, ...]
    arrays: Mapping[str, NDArray[np.float32]]
    backbones: Mapping[str, str]

    def __post_init__(self) -> None:
        sizes = {"R": len(self.relations)}
        for name, letters in ARRAYS.items():
            shape = self.arrays[name].shape
            if len(shape) != len(letters) or any(
                sizes.setdefault(letter, size) != size for letter, size in zip(letters, shape, strict=True)
            ):
                raise ShapeError(f"{name} of the relation model is {shape}, not {letters} with {sizes}")
            if not np.isfinite(self.arrays[name]).all():
                raise ShapeError(f"{name} of the relation model has numbers that are not finite")


def text_logits(arrays: Mapping[str, NDArray[np.float32]], layers: FloatMatrix, texts: Sequence[str]) -> FloatMatrix:
    """Compute (N, R) log-odds of N texts, given their (N, D) layers."""
    words = word_logits(texts, arrays["rarity"], arrays["words"])
    of_layers = product(layers, arrays["layers"])
    return np.asarray(of_layers + words + arrays["bias"], np.float32)


class RelationModel:
    """Predicts the probability of each relation between texts and images.

    P(relation | text, image) is the logistic function of ``text_logits`` + ``image_offsets``.

    Attributes:
        name: Name of the folder, and a digest of the weights; equal for equal weights.
        relations: Names of the R relations: the trained relations of ``iconotext.relations``, then other relations of
            the corpora.
        backbones: Names of the ``text`` and the ``image`` backbone; offsets are valid only for pooled features of this
            image backbone.

    Args:
        cache: The cache for log-odds of texts, which are hundreds of times smaller than layers; None for no cache.
    """

    def __init__(
        self, name: str, weights: RelationWeights, layers: LayerMeans, cache: FeatureCache | None = None
    ) -> None:
        if layers.dim != len(weights.arrays["layers"]):
            raise ShapeError(
                f"the relation model reads {len(weights.arrays['layers'])} numbers of a text, {layers.name} "
                f"gives {layers.dim}"
            )
        self.name = name
        self.relations = weights.relations
        self.backbones = weights.backbones
        self._arrays = weights.arrays
        self._layers = layers
        self._cache = cache
        logits = TextBackbone(f"{name}/{layers.name}", len(self.relations), self._fresh)
        self._logits = logits if cache is None else cached_text(logits, cache, kind=KIND)

    def text_logits(self, texts: Sequence[str]) -> FloatMatrix:
        """Compute (N, R) calibrated log-odds of each relation for N texts, independent of the image."""
        return self._logits.encode(texts)

    def _fresh(self, texts: Sequence[str]) -> FloatMatrix:
        logits = np.zeros((len(texts), len(self.relations)), np.float32)
        for start in range(0, len(texts), TEXTS):  # a text's layers have hundreds of times as many numbers
            batch = texts[start : start + TEXTS]
            logits[start : start + TEXTS] = self._of_layers(batch, self._layers.encode(batch))
        return logits

    def _of_layers(self, texts: Sequence[str], layers: FloatMatrix) -> FloatMatrix:
        return np.clip(text_logits(self._arrays, layers, texts), -LIMIT, LIMIT)

    def read_layers(self, texts: Sequence[str], layers: NDArray[np.float16]) -> None:
        """Put log-odds of N texts into the cache while their (N, D) layers are there; saves encoding them again."""
        if self._cache is not None:
            logits = self._of_layers(texts, layers.astype(np.float32))
            store_texts(self._cache, texts, logits, backbone=self._logits.name, kind=KIND)

    def image_offsets(self, pooled: FloatMatrix) -> FloatMatrix:
        """Compute (M, R), the terms of M images in the log-odds; 0 for a relation without an image term.

        ``pooled`` are their (M, P) pooled features of the image backbone.
        """
        weight = self._arrays["image"]
        if pooled.ndim != 2 or pooled.shape[1] != len(weight):
            raise ShapeError(f"pooled features are {pooled.shape}, the relation model reads (pictures, {len(weight)})")
        return np.asarray(np.clip(product(pooled, weight) + self._arrays["image_bias"], -LIMIT, LIMIT), np.float32)


def relations_folder(name: str = "default") -> Path:
    """Return the folder of a relation model: ``default`` names the one in the package, other names are folders."""
    if name == "default":
        return shipped_folder("relations")
    if not Path(name).is_dir():
        raise no_such_model(name, ("default", "none"))
    return Path(name)


def save_relation_model(folder: Path, weights: RelationWeights) -> None:
    """Write the weights in 16 bits and biases in 32, atomically."""
    from safetensors.numpy import save

    stored = {
        name: np.ascontiguousarray(array, np.float32 if name.endswith("bias") else np.float16)
        for name, array in weights.arrays.items()
    }
    about = {"relations": list(weights.relations), "backbones": dict(weights.backbones)}
    write_bytes(folder / WEIGHTS, save(stored, {ABOUT: json.dumps(about)}), force=True)


def load_relation_model(folder: Path | None = None, *, cache: FeatureCache | None = None) -> RelationModel:
    """Load a relation model from a folder written by ``train_relations``; None for the model in the package."""
    from safetensors import SafetensorError, safe_open

    folder = folder or relations_folder()
    path, layers = folder / WEIGHTS, LayerMeans()
    if not path.is_file():
        raise FeatureError(f"{folder}: there is no relation model in this folder: {WEIGHTS} is missing")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            about: dict[str, Any] = parse_json((file.metadata() or {})[ABOUT])
            arrays = {name: file.get_tensor(name).astype(np.float32) for name in ARRAYS}
        weights = RelationWeights(tuple(map(str, about["relations"])), arrays, dict(about["backbones"]))
        if weights.backbones["text"] != layers.name:
            raise FeatureError(f"{path}: reads the layers of {weights.backbones['text']}, there is only {layers.name}")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        return RelationModel(f"{folder.name}-{digest}", weights, layers, cache)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, ShapeError) as error:
        raise FeatureError(f"{path}: damaged, or not a relation model: {error}") from error
