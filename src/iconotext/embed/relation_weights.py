"""The weights of a relation model: their arrays, how they are stored, and what they make of texts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.word_hashes import hashed_texts, weighted_rows
from iconotext.errors import FeatureError, ShapeError
from iconotext.write import write_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

WEIGHTS = "weights.safetensors"
ABOUT = "iconotext"
"""Entry of the weights' file for what the arrays do not say."""

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


def save_relation_model(folder: Path, weights: RelationWeights) -> None:
    """Write the weights in 16 bits, biases and scales in 32; the file appears whole or not at all."""
    from safetensors.numpy import save

    check_relation_weights(weights)
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


def read_relation_weights(folder: Path) -> RelationWeights:
    """The weights in a folder.

    Raises:
        FeatureError: There are none, or they are damaged.
    """
    from safetensors import SafetensorError, safe_open

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
        check_relation_weights(weights)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, ShapeError) as error:
        raise FeatureError(f"{path}: damaged, or not a relation model: {error}") from error
    return weights


def check_relation_weights(weights: RelationWeights) -> None:
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
