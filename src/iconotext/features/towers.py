"""The two sides of a dual encoder of Hugging Face transformers, for training and for saving."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from PIL import Image as Pillow

from iconotext.features.hub import SIDE, Foreign, loading, pretrained
from iconotext.features.huggingface import Tokens, dual_model, embedding_of, prepared
from iconotext.features.model_folder import folder_of_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OTHER = {"text": ("vision_model", "visual_projection"), "image": ("text_model", "text_projection")}
"""Names of the modules of the other side."""


def load_tower(name: str, folder: Path, side: Literal["text", "image"]) -> tuple[Foreign, int]:
    """One side of a dual encoder for training, on the CPU, and the length of its vectors.

    Raises:
        FeatureError: It cannot be loaded, or does not have both sides.
    """
    with loading(name):
        model = dual_model(name, folder).to("cpu")
        for other in (*_OTHER[side], "logit_scale", "logit_bias"):  # training has its own scale and bias
            if hasattr(model, other):
                delattr(model, other)
        with torch.inference_mode():
            if side == "text":
                tokens = Tokens(name, folder)
                found = model.get_text_features(**tokens.padded([torch.tensor(tokens.ids(["a"])[0])]))
            else:
                pixels = pixel_preparation(name)(Pillow.new("RGB", (SIDE, SIDE), "grey"))
                found = model.get_image_features(pixel_values=torch.from_numpy(pixels)[None])
        return model.train().requires_grad_(True), embedding_of(found).shape[1]


@cache
def pixel_preparation(name: str) -> Callable[[Pillow.Image], NDArray[Any]]:
    """The model's own image processor: from an RGB picture to (3, h, w) float32."""
    with loading(name):
        return partial(prepared, pretrained("AutoImageProcessor", folder_of_model(name)))


def save_towers(
    target: Path, name: str, folder: Path, towers: Mapping[str, torch.Tensor], objective: Mapping[str, torch.Tensor]
) -> None:
    """Write a dual encoder in the format of transformers, with its tokenizer and image processor.

    Args:
        name: Of the dual encoder from which training started.
        towers: Trained weights, by the names in the dual encoder.
        objective: ``log_scale`` and ``bias`` of training, which the dual encoder has, too.
    """
    with loading(name):
        model = dual_model(name, folder)
        learned = {"logit_scale": objective["log_scale"], "logit_bias": objective["bias"]}
        state = model.state_dict()
        state.update(towers)
        state.update({key: value.reshape(state[key].shape) for key, value in learned.items() if key in state})
        with torch.inference_mode():
            model.load_state_dict(state)
        model.save_pretrained(target)
    for pattern in ("*.json", "*.txt", "*.model", "*.jinja"):
        for file in folder.glob(pattern):
            if not (target / file.name).exists():
                shutil.copyfile(file, target / file.name)
