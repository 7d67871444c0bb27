"""How a text and a picture relate: the log-odds of each coherence relation, from the text and from the picture.

Two experts read the text: a small network over the means of every layer of the sentence encoder (several, trained from
different starts, averaged), and a linear one over words and runs of words. Their weighted sum is calibrated for each
relation. What the picture adds is linear in its pooled features. The relations of the model that ships are those of
Alikhani 2021.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.layer_means import TEXTS, LayerMeans
from iconotext.embed.word_hashes import hashed_texts, weighted_rows
from iconotext.errors import FeatureError, ShapeError
from iconotext.features.model_folder import no_such_model
from iconotext.write import write_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.cache import FeatureCache
    from iconotext.types import FloatMatrix

WEIGHTS = "weights.safetensors"
ABOUT = "iconotext"
"""Entry of the weights' file for what the arrays do not say."""

LIMIT = 12.0
"""Largest log-odds that are given, in either direction: nothing is surer than one in 160,000."""

ARRAYS = {
    "mean": ("D",),
    "scale": ("D",),
    "hidden": ("M", "D", "H"),
    "hidden_bias": ("M", "H"),
    "output": ("M", "H", "R"),
    "output_bias": ("M", "R"),
    "rarity": ("B",),
    "words": ("B", "R"),
    "words_bias": ("R",),
    "slope": ("R",),
    "shift": ("R",),
    "picture": ("P", "R"),
    "picture_bias": ("R",),
}
"""The arrays and their shapes: D numbers of a text's layers, M networks, H hidden units, R relations, B buckets of word
runs, P features of a picture."""


@dataclass(frozen=True, slots=True, eq=False)
class RelationWeights:
    """What training finds; see ``ARRAYS`` for names and shapes.

    Attributes:
        relations: The R relations.
        arrays: float32.
        word_weight: What the linear expert's log-odds count beside the networks'.
        backbones: Names of the ``text`` and the ``image`` backbone whose features are read.
    """

    relations: tuple[str, ...]
    arrays: Mapping[str, NDArray[np.float32]]
    word_weight: float
    backbones: Mapping[str, str]


class RelationModel:
    """Says how probable each relation is between texts and pictures.

    P(relation | text, picture) is the logistic function of ``text_logits`` + ``image_offsets``.

    Attributes:
        name: Equal for equal weights: what the folder is called, and a digest of its weights.
        relations: Names of the R relations: of those of ``corpus.relations`` the ones that were trained, then others
            that a corpus had.
        backbones: Names of the ``text`` and the ``image`` backbone; offsets mean something only for pooled features of
            that image backbone.

    Args:
        name: See above.
        weights: What training found.
        layers: Reads the layers of the text backbone.

    Raises:
        ShapeError: The arrays do not fit each other.
    """

    def __init__(self, name: str, weights: RelationWeights, layers: LayerMeans) -> None:
        _check(weights)
        if layers.dim != len(weights.arrays["mean"]):
            raise ShapeError(
                f"the relation model reads {len(weights.arrays['mean'])} numbers of a text, {layers.name} "
                f"gives {layers.dim}"
            )
        self.name = name
        self.relations = weights.relations
        self.backbones = dict(weights.backbones)
        self._weights = weights
        self._layers = layers

    def text_logits(self, texts: Sequence[str]) -> FloatMatrix:
        """(N, R) calibrated log-odds of each relation for N texts, whatever picture stands beside them."""
        slope, shift = (self._weights.arrays[name] for name in ("slope", "shift"))
        logits = np.zeros((len(texts), len(self.relations)), np.float32)
        for start in range(0, len(texts), TEXTS):  # a text's layers are a thousand times as many numbers as come out
            some = texts[start : start + TEXTS]
            calibrated = raw_logits(self._weights, self._layers.encode(some), some) * slope + shift
            logits[start : start + len(some)] = np.clip(calibrated, -LIMIT, LIMIT)
        return logits

    def image_offsets(self, pooled: FloatMatrix) -> FloatMatrix:
        """(M, R) what M pictures add to the log-odds; 0 for a relation on which pictures have no say.

        Args:
            pooled: (M, P) pooled features of the image backbone.

        Raises:
            ShapeError: They have another length.
        """
        weight = self._weights.arrays["picture"]
        if pooled.ndim != 2 or pooled.shape[1] != len(weight):
            raise ShapeError(f"pooled features are {pooled.shape}, the relation model reads (pictures, {len(weight)})")
        offsets = pooled @ weight + self._weights.arrays["picture_bias"]
        return np.asarray(np.clip(offsets, -LIMIT, LIMIT), np.float32)


def raw_logits(weights: RelationWeights, layers: FloatMatrix, texts: Sequence[str]) -> FloatMatrix:
    """(N, R) log-odds before they are calibrated: the networks' mean, and the words' times their weight.

    Args:
        weights: Of the model.
        layers: (N, D) of the texts.
        texts: N texts.
    """
    arrays = weights.arrays
    x = layers - arrays["mean"]
    x /= arrays["scale"]
    total = np.zeros((len(texts), len(weights.relations)), np.float32)
    members = zip(*(arrays[name] for name in ("hidden", "hidden_bias", "output", "output_bias")), strict=True)
    for hidden, hidden_bias, output, output_bias in members:
        total += np.maximum(x @ hidden + hidden_bias, 0) @ output + output_bias
    total /= len(arrays["hidden"])
    rows = weighted_rows(hashed_texts(texts, len(arrays["words"])), arrays["rarity"])
    return np.asarray(total + weights.word_weight * (rows @ arrays["words"] + arrays["words_bias"]), np.float32)


def relations_folder(name: str = "default") -> Path:
    """The folder of a relation model by its name: ``default``, the one that ships, or the folder itself.

    Raises:
        FeatureError: There is no such folder.
    """
    if name == "default":
        return Path(__file__).parents[1] / "models" / "relations"
    if not Path(name).is_dir():
        raise no_such_model(name, ("default", "none"))
    return Path(name)


def save_relation_model(folder: Path, weights: RelationWeights) -> None:
    """Write the weights in 16 bits, biases and scales in 32; the file appears whole or not at all."""
    from safetensors.numpy import save

    _check(weights)
    halved = ("hidden", "output", "rarity", "words", "picture")
    stored = {
        name: np.ascontiguousarray(weights.arrays[name], np.float16 if name in halved else np.float32)
        for name in ARRAYS
    }
    about = {
        "relations": list(weights.relations),
        "word_weight": weights.word_weight,
        "backbones": dict(weights.backbones),
    }
    write_bytes(folder / WEIGHTS, save(stored, {ABOUT: json.dumps(about)}), force=True)


def load_relation_model(folder: Path | None = None, *, cache: FeatureCache | None = None) -> RelationModel:
    """A relation model.

    Args:
        folder: As ``train_relations`` writes it; None: the one that ships.
        cache: Where what is read off the texts is kept; None keeps none.

    Raises:
        FeatureError: There is none in the folder, it is damaged, or it reads other encoders than the program has.
    """
    from safetensors import SafetensorError, safe_open

    folder = folder or relations_folder()
    path = folder / WEIGHTS
    if not path.is_file():
        raise FeatureError(f"{folder}: there is no relation model in this folder: {WEIGHTS} is missing")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name).astype(np.float32) for name in ARRAYS}
        about: dict[str, Any] = json.loads(metadata[ABOUT])
        weights = RelationWeights(
            tuple(map(str, about["relations"])), arrays, float(about["word_weight"]), dict(about["backbones"])
        )
        layers = LayerMeans(cache)
        if weights.backbones["text"] != layers.name:
            raise FeatureError(f"{path}: reads the layers of {weights.backbones['text']}, there is only {layers.name}")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        return RelationModel(f"{folder.name}-{digest}", weights, layers)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, ShapeError) as error:
        raise FeatureError(f"{path}: damaged, or not a relation model: {error}") from error


def _check(weights: RelationWeights) -> None:
    """Raise unless every array is there with its shape, and all numbers are finite."""
    lengths = {"R": len(weights.relations)}
    for name, letters in ARRAYS.items():
        array = weights.arrays[name]
        if array.ndim != len(letters) or any(
            lengths.setdefault(letter, length) != length for letter, length in zip(letters, array.shape, strict=True)
        ):
            raise ShapeError(f"{name} of the relation model is {array.shape}, not {letters} with {lengths}")
        if not np.isfinite(array).all():
            raise ShapeError(f"{name} of the relation model has numbers that are not finite")
