"""Any model for sentence-transformers: sentences, or sentences and pictures in one space as CLIP has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image as Pillow

from iconotext.errors import FeatureError
from iconotext.features.backbone import DualEncoder, ImageFeatures, Picture, TextBackbone, blank_features
from iconotext.features.decoding import encode_ahead, pixel_batches
from iconotext.features.device import best_device, image_batch
from iconotext.features.hub import loading
from iconotext.features.model_folder import revised_name

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

    from iconotext.types import FloatMatrix

SIDE = 512
"""Shorter side in pixels to which pictures are reduced before the model's own processing; no usual one needs more."""


class SentenceTransformerText:
    """The text side of a sentence-transformers model.

    Args:
        model: The model.
        name: Identifies its weights.
        dim: Length of its vectors.
    """

    def __init__(self, model: SentenceTransformer, name: str, dim: int) -> None:
        self._model = model
        self.name = self.space = name
        self.dim = dim

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, dim) float32, rows of length 1."""
        return _vectors(self._model, list(texts), self.dim)


class SentenceTransformerImage:
    """The image side of a CLIP-like sentence-transformers model.

    Args:
        model: The model.
        name: Identifies its weights.
        dim: Length of its vectors.
    """

    classes = None

    def __init__(self, model: SentenceTransformer, name: str, dim: int) -> None:
        self._model = model
        self.name = self.space = name
        self.dim = dim

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """One vector of length 1 a picture; see ``ImageBackbone``."""
        if regions:
            raise FeatureError(f"{self.name}: a sentence-transformers model has no regions: use another backbone")

        def forward(images: list[Pillow.Image]) -> dict[str, NDArray[Any]]:
            return {"pooled": _vectors(self._model, images, self.dim)}

        batches = pixel_batches(files, _reduced, at_least=SIDE, batch_size=image_batch(best_device()))
        return encode_ahead(blank_features(len(files), self.dim), batches, forward)


def load_sentence_transformer(name: str, folder: Path) -> TextBackbone:
    """The text side of a model by name and folder.

    Raises:
        FeatureError: It cannot be loaded.
    """
    model, revised, dim = _load(name, folder)
    return SentenceTransformerText(model, revised, dim)


def load_clip_like(name: str, folder: Path) -> DualEncoder:
    """Both sides of a model by name and folder.

    Raises:
        FeatureError: It cannot be loaded, or does not take pictures.
    """
    model, revised, dim = _load(name, folder)
    try:
        probe = _vectors(model, [Pillow.new("RGB", (SIDE, SIDE))], dim)
    except Exception as error:  # a text model fails on a picture in its own way
        raise FeatureError(f"{name}: takes texts but no pictures: load it as a text backbone") from error
    if probe.shape != (1, dim):
        raise FeatureError(f"{name}: {probe.shape[1]} numbers for a picture, {dim} for a text: not one space")
    return DualEncoder(SentenceTransformerText(model, revised, dim), SentenceTransformerImage(model, revised, dim))


def _load(name: str, folder: Path) -> tuple[SentenceTransformer, str, int]:
    with loading(name):
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(
            str(folder),
            device=str(best_device()),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        ).eval()
        dim = model.encode(["probe"], show_progress_bar=False).shape[1]  # not every model knows it
        return model, revised_name(name, folder), int(dim)


def _vectors(model: SentenceTransformer, inputs: list[Any], dim: int) -> FloatMatrix:
    if not inputs:
        return np.zeros((0, dim), np.float32)
    vectors = model.encode(
        inputs, batch_size=64, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
    )
    return np.asarray(vectors, np.float32)


def _reduced(image: Pillow.Image) -> Pillow.Image:
    shorter = min(image.size)
    if shorter <= SIDE:
        return image
    width, height = (max(1, round(side * SIDE / shorter)) for side in image.size)
    return image.resize((width, height), Pillow.Resampling.BICUBIC, reducing_gap=2.0)
