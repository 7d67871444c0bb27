"""The two sides of a dual encoder (CLIP, SigLIP), trained along with all their weights."""

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
"""Pictures that are looked at together where no gradient is wanted; bounds memory."""


class TextTower(nn.Module):
    """Token ids → unit vectors.

    Args:
        name: Folder or hub name of the dual encoder.
        dim: Of the joint space, which is the dual encoder's.

    Raises:
        FeatureError: There is no such model, or it has no two sides.
        SettingError: Its vectors have another length.
    """

    def __init__(self, name: str, dim: int) -> None:
        super().__init__()
        folder = folder_of_model(name)
        self.tower, own = load_tower(name, folder, "text")
        self.tokens = Tokens(name, folder)
        check_dim("text", 'kind = "tower"', own, dim)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """(T,) token ids, sentence after sentence, and (N,) how many each has → (N, dim), rows of length 1."""
        parts = list(torch.split(words, lengths.tolist()))
        step = len(parts) if torch.is_grad_enabled() else TEXTS
        return torch.cat([self._encoded(parts[at : at + step]) for at in range(0, len(parts), step)])

    def _encoded(self, parts: list[Tensor]) -> Tensor:
        found = embedding_of(self.tower.get_text_features(**self.tokens.padded(parts)))
        return functional.normalize(found.float(), dim=-1)


class ImageTower(nn.Module):
    """Pixels as the dual encoder's own processor gives them → unit vectors. See ``TextTower``."""

    def __init__(self, name: str, dim: int) -> None:
        super().__init__()
        self.tower, own = load_tower(name, folder_of_model(name), "image")
        check_dim("image", 'kind = "tower"', own, dim)

    def forward(self, pixels: Tensor) -> Tensor:
        """(N, 3, h, w) → (N, dim), rows of length 1."""
        parts = [pixels] if torch.is_grad_enabled() else torch.split(pixels, AT_ONCE)
        found = [embedding_of(self.tower.get_image_features(pixel_values=part)) for part in parts]
        return functional.normalize(torch.cat(found).float(), dim=-1)


def save_dual_encoder(target: Path, name: str, weights: Mapping[str, Tensor]) -> None:
    """Write a dual encoder with the weights of its trained sides; it appears whole or not at all.

    Args:
        target: Its folder; what was there is replaced.
        name: What training started from: a side that was not trained along is as it is there.
        weights: ``JointModel.state_dict()``.
    """
    work = target.with_name(f".{target.name}.part")
    shutil.rmtree(work, ignore_errors=True)
    sides = {side: _of(weights, f"{side}.tower.") for side in ("text", "image")}
    save_towers(work, name, folder_of_model(name), {**sides["text"], **sides["image"]}, weights)
    shutil.rmtree(target, ignore_errors=True)
    work.rename(target)


def without_towers(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What ``save_dual_encoder`` does not keep."""
    return {name: each for name, each in weights.items() if not name.startswith(("text.tower.", "image.tower."))}


def _of(weights: Mapping[str, Tensor], start: str) -> dict[str, Tensor]:
    return {name.removeprefix(start): each for name, each in weights.items() if name.startswith(start)}
