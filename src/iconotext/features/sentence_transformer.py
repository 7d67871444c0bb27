"""Models of sentence-transformers: for sentences, or for sentences and pictures in one space, like CLIP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image as Pillow

from iconotext.errors import FeatureError
from iconotext.features.backbone import DualEncoder, TextBackbone
from iconotext.features.decoding import network_backbone
from iconotext.features.device import best_device
from iconotext.features.hub import SIDE, check_finite, check_settings, check_size, is_of_transformers, loading
from iconotext.features.model_folder import revised_name

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

    from iconotext.types import FloatMatrix


def load_sentence_transformer(name: str, folder: Path) -> TextBackbone:
    """Load a text encoder by name and folder.

    Raises:
        FeatureError: It cannot be loaded.
    """
    model, revised, dim = _load(name, folder)
    return TextBackbone(revised, dim, partial(_vectors, model, dim))


def load_clip_like(name: str, folder: Path) -> DualEncoder:
    """Load both sides of a dual encoder by name and folder.

    Raises:
        FeatureError: It cannot be loaded, or does not accept pictures.
    """
    model, revised, dim = _load(name, folder)
    try:
        probe = _vectors(model, dim, [Pillow.new("RGB", (SIDE, SIDE))])
    except Exception as error:  # text models fail on a picture in different ways
        raise FeatureError(f"{name}: takes texts but no pictures: load it as a text backbone") from error
    if probe.shape != (1, dim):
        raise FeatureError(f"{name}: {probe.shape[1]} numbers for a picture, {dim} for a text: not one space")

    def forward(images: list[Pillow.Image], regions: bool) -> dict[str, NDArray[Any]]:
        return {"pooled": _vectors(model, dim, images)}

    vectors = partial(_vectors, model, dim)
    image = network_backbone(revised, dim, _reduced, forward, at_least=SIDE)
    return DualEncoder(TextBackbone(revised, dim, vectors), image)


def _load(name: str, folder: Path) -> tuple[SentenceTransformer, str, int]:
    with loading(name):
        from sentence_transformers import SentenceTransformer
        from transformers import AutoModel

        for place in (folder, *(each for each in folder.iterdir() if each.is_dir())):
            check_settings(place)
            if is_of_transformers(place):  # else a layer of sentence-transformers itself
                check_size(AutoModel, place)
        model = SentenceTransformer(
            str(folder),
            device=str(best_device()),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        ).eval()
        check_finite(name, model.state_dict())
        probe = model.encode(["probe"], show_progress_bar=False)  # not every model knows its dimension
        check_finite(name, {"the vector of a word": probe})
        return model, revised_name(name, folder), int(probe.shape[1])


def _vectors(model: SentenceTransformer, dim: int, inputs: Sequence[Any]) -> FloatMatrix:
    """(n, dim) float32 unit vectors of texts or pictures."""
    if not inputs:
        return np.zeros((0, dim), np.float32)
    vectors = model.encode(
        list(inputs), batch_size=64, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
    )
    return np.asarray(vectors, np.float32)


def _reduced(image: Pillow.Image) -> Pillow.Image:
    """The picture, reduced if it is large: usual models need no more."""
    shorter = min(image.size)
    if shorter <= SIDE:
        return image
    width, height = (max(1, round(side * SIDE / shorter)) for side in image.size)
    return image.resize((width, height), Pillow.Resampling.BICUBIC, reducing_gap=2.0)
