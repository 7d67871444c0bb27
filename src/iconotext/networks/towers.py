"""The text tower and the image tower of a dual encoder (CLIP, SigLIP), as PyTorch modules that can be trained."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from PIL import Image as Pillow
from torch import Tensor, nn
from torch.nn import functional

from iconotext.features.backbone import check_dim
from iconotext.features.hub_checks import SIDE, Foreign, loading, pretrained
from iconotext.features.hub_models import TEXTS, Tokens, dual_model, embedding_of, prepared
from iconotext.features.model_folder import folder_of_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OTHER = {"text": ("vision_model", "visual_projection"), "image": ("text_model", "text_projection")}
"""For each side, the names of the modules that belong only to the other side."""


def load_tower(name: str, folder: Path, side: Literal["text", "image"]) -> tuple[Foreign, int]:
    """Load one side of a dual encoder for training, on the CPU; return it and the length of its vectors."""
    with loading(name):
        model = dual_model(name, folder).to("cpu")
        for other in (*_OTHER[side], "logit_scale", "logit_bias"):  # training has its own scale and bias
            if hasattr(model, other):
                delattr(model, other)
        with torch.inference_mode():
            if side == "text":
                tokens = Tokens(name, folder)
                output = model.get_text_features(**tokens.padded([torch.tensor(tokens.ids(["a"])[0])]))
            else:
                pixels = pixel_preparation(name)(Pillow.new("RGB", (SIDE, SIDE), "grey"))
                output = model.get_image_features(pixel_values=torch.from_numpy(pixels)[None])
        return model.train().requires_grad_(True), embedding_of(output).shape[1]


@cache
def pixel_preparation(name: str) -> Callable[[Pillow.Image], NDArray[Any]]:
    """The image processor of a model: a function from an RGB picture to (3, h, w) float32 pixels."""
    with loading(name):
        return partial(prepared, pretrained("AutoImageProcessor", folder_of_model(name)))


BATCH = 32
"""Pictures per batch without gradients; bounds memory."""


class TextTower(nn.Module):
    """The text side of a dual encoder: it turns token ids into unit vectors.

    Args:
        name: Folder or hub name of the dual encoder.
        dim: Dimensions of the joint space, which must be those of the dual encoder.

    Raises:
        FeatureError: There is no such model, or it does not have both sides.
        SettingError: The vectors of the dual encoder have another length than ``dim``.
    """

    def __init__(self, name: str, dim: int) -> None:
        super().__init__()
        folder = folder_of_model(name)
        self.tower, tower_dim = load_tower(name, folder, "text")
        self.tokens = Tokens(name, folder)
        check_dim("text", 'kind = "tower"', tower_dim, dim)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Encode N sentences.

        Args:
            words: (T,) token ids, one sentence after the other.
            lengths: (N,) number of tokens of each sentence.

        Returns:
            (N, dim) unit vectors.
        """
        parts = list(torch.split(words, lengths.tolist()))
        step = len(parts) if torch.is_grad_enabled() else TEXTS
        return torch.cat([self._encoded(parts[at : at + step]) for at in range(0, len(parts), step)])

    def _encoded(self, parts: list[Tensor]) -> Tensor:
        vectors = embedding_of(self.tower.get_text_features(**self.tokens.padded(parts)))
        return functional.normalize(vectors.float(), dim=-1)


class ImageTower(nn.Module):
    """The image side of a dual encoder: it turns pixels, prepared by the model's image processor, into unit vectors.

    Arguments and errors are those of ``TextTower``.
    """

    def __init__(self, name: str, dim: int) -> None:
        super().__init__()
        self.tower, tower_dim = load_tower(name, folder_of_model(name), "image")
        check_dim("image", 'kind = "tower"', tower_dim, dim)

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn (N, 3, h, w) pixels into (N, dim) unit vectors."""
        parts = [pixels] if torch.is_grad_enabled() else torch.split(pixels, BATCH)
        vectors = [embedding_of(self.tower.get_image_features(pixel_values=part)) for part in parts]
        return functional.normalize(torch.cat(vectors).float(), dim=-1)


def save_dual_encoder(target: Path, name: str, weights: Mapping[str, Tensor]) -> None:
    """Write a dual encoder with its trained towers in the format of transformers, with tokenizer and image processor.

    So other programs can read it. The folder appears only when it is complete.

    Args:
        target: The folder to write; existing contents are replaced.
        name: Folder or hub name of the dual encoder from which training started; a side that was not trained keeps its
            weights.
        weights: ``JointModel.state_dict()``; its ``log_scale`` and ``bias`` become the dual encoder's scale and bias
            where it has such parameters.
    """
    work = target.with_name(f".{target.name}.part")
    shutil.rmtree(work, ignore_errors=True)
    folder = folder_of_model(name)
    with loading(name):
        model = dual_model(name, folder)
        state = model.state_dict()
        for side in ("text", "image"):
            start = f"{side}.tower."
            state |= {key.removeprefix(start): value for key, value in weights.items() if key.startswith(start)}
        learned = {"logit_scale": weights["log_scale"], "logit_bias": weights["bias"]}
        state |= {key: value.reshape(state[key].shape) for key, value in learned.items() if key in state}
        with torch.inference_mode():
            model.load_state_dict(state)
        model.save_pretrained(work)
    for pattern in ("*.json", "*.txt", "*.model", "*.jinja"):
        for file in folder.glob(pattern):
            if not (work / file.name).exists():
                shutil.copyfile(file, work / file.name)
    shutil.rmtree(target, ignore_errors=True)
    work.rename(target)


def without_towers(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights that ``save_dual_encoder`` does not write."""
    return {name: tensor for name, tensor in weights.items() if not name.startswith(("text.tower.", "image.tower."))}
