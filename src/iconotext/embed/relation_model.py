"""How a text and a picture relate: the log-odds of each coherence relation, from the text and from the picture.

Two experts read the text: a small network over the means of every layer of the sentence encoder (several, trained from
different starts, averaged), and a linear one over words and runs of words. Their weighted sum is calibrated for each
relation. What the picture adds is linear in its pooled features. The relations of the model that ships are those of
Alikhani 2021.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.embed.layer_means import TEXTS, LayerMeans
from iconotext.embed.relation_weights import (
    WEIGHTS,
    RelationWeights,
    check_relation_weights,
    raw_logits,
    read_relation_weights,
)
from iconotext.errors import FeatureError, ShapeError
from iconotext.features.model_folder import no_such_model

if TYPE_CHECKING:
    from iconotext.features.cache import FeatureCache
    from iconotext.types import FloatMatrix

LIMIT = 12.0
"""Largest log-odds that are given, in either direction: nothing is surer than one in 160,000."""


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
        check_relation_weights(weights)
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


def load_relation_model(folder: Path | None = None, *, cache: FeatureCache | None = None) -> RelationModel:
    """A relation model.

    Args:
        folder: As ``train_relations`` writes it; None: the one that ships.
        cache: Where what is read off the texts is kept; None keeps none.

    Raises:
        FeatureError: There is none in the folder, it is damaged, or it reads other encoders than the program has.
    """
    folder = folder or relations_folder()
    weights, layers = read_relation_weights(folder), LayerMeans(cache)
    path = folder / WEIGHTS
    if weights.backbones.get("text") != layers.name:
        raise FeatureError(f"{path}: reads the layers of {weights.backbones.get('text')}, there is only {layers.name}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    try:
        return RelationModel(f"{folder.name}-{digest}", weights, layers)
    except ShapeError as error:
        raise FeatureError(f"{path}: damaged, or not a relation model: {error}") from error
