"""Where single texts and single pictures meet, whatever documents they come from: what a library is searched in.

In a document, what all its sentences have in common is taken away before they are compared (``recipe.linking.centre``).
A query stands alone, and a picture of a library must have the same vector whatever lies beside it; so here nothing is
taken away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.backbone import Picture

if TYPE_CHECKING:
    from iconotext.embed.folder import StoredModel
    from iconotext.features.backbone import ImageBackbone, ImageFeatures, TextBackbone
    from iconotext.features.cache import FeatureCache
    from iconotext.types import FloatMatrix


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """A space of unit vectors; the product of a text's and a picture's is their similarity.

    Attributes:
        name: Equal for equal vectors: it names the model and the weights of its backbones, by their digests where
            they lie in folders, so that a folder may be moved.
        dim: Length of the vectors.
        texts: n texts to (n, dim) float32 rows of length 1.
        pictures: n files to (n, dim) float32 rows of length 1, zeros for one that cannot be read, and the problem of
            each, None for a good one.
        stored: The trained model, None without one.
        look: As ``pictures``, but with the features that the vectors were made of, for what else is known from them.
        sees: Name of the image backbone whose features those are; empty where there is no ``look``.
    """

    name: str
    dim: int
    texts: Callable[[Sequence[str]], FloatMatrix]
    pictures: Callable[[Sequence[Picture]], tuple[FloatMatrix, tuple[str | None, ...]]]
    stored: StoredModel | None = None
    look: Callable[[Sequence[Picture]], tuple[FloatMatrix, ImageFeatures]] | None = None
    sees: str = ""


def load_space(model: str = "default", *, cache: FeatureCache | None = None) -> SearchSpace:
    """The space of a model.

    Args:
        model: ``default``, the folder of a trained model, ``no-training`` (the concept bridge), or a dual encoder
            (CLIP, SigLIP): a folder or a name on the hub.
        cache: Where features are kept; None keeps none.

    Raises:
        FeatureError: There is no such model, or it looks its pictures up in a table instead of looking at them.
    """
    from iconotext.embed.folder import init_folder, is_model_folder
    from iconotext.embed.trained import load_trained
    from iconotext.features import (
        cached_image,
        cached_text,
        load_dual_encoder,
        load_image_backbone,
        load_text_backbone,
    )
    from iconotext.features.fingerprint import folder_name
    from iconotext.features.model_folder import MODELS

    if Path(model).is_absolute() and not Path(model).exists():
        raise FeatureError(
            f"{model}: the model's folder is gone; where it was moved, tell the library that was made with it:"
            " `iconotext library add LIB --model FOLDER`"
        )
    stored = None
    text: TextBackbone
    image: ImageBackbone | None
    if is_model_folder(init_folder(model)):
        stored, text, image, _ = load_trained(init_folder(model), text=None, image=None, default_text="minilm")
        if image is None:
            raise FeatureError(f"{model}: looks pictures up in a table of features; a library needs one that sees them")
    elif model == "no-training":
        text, image = load_text_backbone(), load_image_backbone()
    else:
        both = load_dual_encoder(model, MODELS)
        text, image = both.text, both.image
    if cache is not None:
        text, image = cached_text(text, cache), cached_image(image, cache)
    return model_space(folder_name(init_folder(model)) if stored else model, text, image, stored)


def model_space(name: str, text: TextBackbone, image: ImageBackbone, stored: StoredModel | None) -> SearchSpace:
    """The space of backbones, and of the model that was trained on them."""
    from iconotext.features import share_space

    bridge = stored.recipe.linking.bridge if stored else float(not share_space(text, image))
    classes = text.encode(image.classes or ()) if bridge else None

    def texts(given: Sequence[str]) -> FloatMatrix:
        words = stored is not None and stored.vocabulary is not None
        vectors = None if words else text.encode(given)
        return _joined(_texts(stored, given, vectors), None if not bridge else vectors, bridge)

    def look(files: Sequence[Picture]) -> tuple[FloatMatrix, ImageFeatures]:
        features = image.encode(files)
        of_classes = None if classes is None else _concepts(features, classes)
        vectors = _joined(_images(stored, features), of_classes, bridge)
        vectors[[problem is not None for problem in features.problems]] = 0
        return vectors, features

    def pictures(files: Sequence[Picture]) -> tuple[FloatMatrix, tuple[str | None, ...]]:
        vectors, features = look(files)
        return vectors, features.problems

    names = [name, text.name, image.name][0 if stored else 1 :]
    dim = (0 if bridge == 1 else stored.recipe.dim if stored else text.dim) + (text.dim if bridge else 0)
    return SearchSpace("+".join(map(_placeless, names)), dim, texts, pictures, stored, look, image.name)


def _placeless(name: str) -> str:
    """What ``features.fingerprint.folder_name`` gives, without the folder's name; another name as it is."""
    return re.sub(r"^[^/]*@(?=[0-9a-f]{16}(?:/|$))", "@", name)


def _texts(stored: StoredModel | None, given: Sequence[str], vectors: FloatMatrix | None) -> FloatMatrix:
    if stored is None:
        assert vectors is not None
        return vectors
    from iconotext.embed.joint import encode_sentences

    return encode_sentences(stored, given, vectors)


def _images(stored: StoredModel | None, features: ImageFeatures) -> FloatMatrix:
    if stored is None:
        return features.pooled
    from iconotext.embed.joint import encode_images

    return encode_images(stored, features)


def _concepts(features: ImageFeatures, classes: FloatMatrix) -> FloatMatrix:
    from iconotext.embed.joint import CONCEPTS
    from iconotext.features import concept_vectors

    return concept_vectors(features, classes, k=CONCEPTS)


def _joined(joint: FloatMatrix, of_concepts: FloatMatrix | None, bridge: float) -> FloatMatrix:
    """Rows whose products are (1 - bridge) times those of the joint space, and bridge times those of the concepts."""
    if of_concepts is None:
        rows = joint
    elif bridge == 1:
        rows = of_concepts
    else:
        rows = np.hstack([np.sqrt(1 - bridge) * joint, np.sqrt(bridge) * of_concepts])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)
