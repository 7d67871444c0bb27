"""The two sides of a dual encoder (CLIP, SigLIP), trained with all their weights."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from iconotext.embed.inputs import check_dim
from iconotext.features.huggingface import TEXTS, Tokens, embedding_of
from iconotext.features.model_folder import folder_of_model
from iconotext.features.towers import load_tower, save_towers

AT_ONCE = 32
"""Pictures per batch without gradients; bounds memory."""


class TextTower(nn.Module):
    """From token ids to unit vectors.

    Args:
        name: Folder or hub name of the dual encoder.
        dim: Of the joint space, which is the dual encoder's.

    Raises:
        FeatureError: There is no such model, or it does not have both sides.
        SettingError: Its vectors have another length.
    """

    def __init__(self, name: str, dim: int) -> None:
        super().__init__()
        folder = folder_of_model(name)
        self.tower, own = load_tower(name, folder, "text")
        self.tokens = Tokens(name, folder)
        check_dim("text", 'kind = "tower"', own, dim)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(T,) token ids, one sentence after the other, and (N,) number of tokens, to (N, dim) unit vectors."""
        parts = list(torch.split(words, lengths.tolist()))
        step = len(parts) if torch.is_grad_enabled() else TEXTS
        return torch.cat([self._encoded(parts[at : at + step]) for at in range(0, len(parts), step)])

    def _encoded(self, parts: list[Tensor]) -> Tensor:
        found = embedding_of(self.tower.get_text_features(**self.tokens.padded(parts)))
        return functional.normalize(found.float(), dim=-1)


class ImageTower(nn.Module):
    """From pixels, prepared by the dual encoder's own processor, to unit vectors. See ``TextTower``."""

    def __init__(self, name: str, dim: int) -> None:
        super().__init__()
        self.tower, own = load_tower(name, folder_of_model(name), "image")
        check_dim("image", 'kind = "tower"', own, dim)

    def forward(self, pixels: Tensor) -> Tensor:
        """(N, 3, h, w) to (N, dim) unit vectors."""
        parts = [pixels] if torch.is_grad_enabled() else torch.split(pixels, AT_ONCE)
        found = [embedding_of(self.tower.get_image_features(pixel_values=part)) for part in parts]
        return functional.normalize(torch.cat(found).float(), dim=-1)


def save_dual_encoder(target: Path, name: str, weights: Mapping[str, Tensor]) -> None:
    """Write a dual encoder with the weights of its trained sides, atomically.

    Args:
        target: Its folder; existing contents are replaced.
        name: Of the dual encoder that training started from; sides that were not trained are taken from it.
        weights: ``JointModel.state_dict()``.
    """
    work = target.with_name(f".{target.name}.part")
    shutil.rmtree(work, ignore_errors=True)
    sides = {side: _of(weights, f"{side}.tower.") for side in ("text", "image")}
    save_towers(work, name, folder_of_model(name), {**sides["text"], **sides["image"]}, weights)
    shutil.rmtree(target, ignore_errors=True)
    work.rename(target)


def without_towers(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that ``save_dual_encoder`` does not write."""
    return {name: each for name, each in weights.items() if not name.startswith(("text.tower.", "image.tower."))}


def _of(weights: Mapping[str, Tensor], start: str) -> dict[str, Tensor]:
    return {name.removeprefix(start): each for name, each in weights.items() if name.startswith(start)}
