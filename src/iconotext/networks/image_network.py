"""An image network that is trained as a whole, from pixels to the joint space (Hessel 2019, supplement §2).

``load_pixels`` gives it pictures in training; ``trained_network`` makes an image backbone of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from PIL import Image as Pillow
from PIL.Image import Resampling, Transpose
from torch import Tensor, nn

from iconotext.features.backbone import ImageBackbone
from iconotext.features.decoding import network_backbone
from iconotext.features.efficientnet import FOLDER
from iconotext.features.eight_bits import DIM, load_weights, network_of
from iconotext.features.model_folder import folder_of_model
from iconotext.features.resnet import load_resnet
from iconotext.features.runtime import WEIGHTS
from iconotext.images import decode
from iconotext.networks.projection import Projection
from iconotext.recipe.encoders import BUNDLED
from iconotext.system.threads import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

WHOLE = 256
"""Side in pixels of the square to which a picture is first resized, whatever its proportions."""

SIDE = 224
"""Side in pixels of the square part that the network reads."""

BATCH = 32
"""Pictures per batch without gradients; bounds memory."""

TURN = 20.0
"""Largest rotation in training, in degrees."""


class ImageNetwork(nn.Module):
    """A network that starts from ImageNet weights, followed by a projection; all of it is trained.

    The batch norms of EfficientNet-Lite0 are folded into the convolutions, so they keep the statistics of ImageNet: the
    images of one document are too similar to estimate statistics from them. The batch norms of a ResNet are trained.
    Arguments that are not listed are those of ``recipe.encoders.NetworkSettings``.

    Args:
        dim: Dimensions of the joint space.
    """

    def __init__(
        self,
        *,
        dim: int,
        dropout: float,
        network: str = BUNDLED,
        batch_norm: bool = False,
        pictures: Literal["cropped", "resized"] = "cropped",
    ) -> None:
        super().__init__()
        self.prepared = middle if pictures == "cropped" else resized
        self.network: nn.Module
        if network == BUNDLED:
            lite = network_of(load_weights(FOLDER / WEIGHTS), rounding=False).train().requires_grad_(True)
            lite.classifier.requires_grad_(False)  # not part of the joint space
            self.network, width = lite, DIM
        else:
            resnet, width = load_resnet(network, folder_of_model(network, (BUNDLED,)))
            self.network = _FromPixels(resnet)
        self.projection = Projection(
            width, dim=dim, hidden=0, dropout=dropout, dropout_at="output", batch_norm=batch_norm
        )

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn (N, 224, 224, 3) pixels with values 0 to 255 into (N, dim) unit vectors."""
        parts = [pixels] if torch.is_grad_enabled() else torch.split(pixels, BATCH)
        return torch.cat([self.projection(self.network(part).mean((2, 3))) for part in parts])


class _FromPixels(nn.Module):
    """A ResNet of transformers that takes pixels 0 to 255 and normalises them with the colours of ImageNet."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, resnet: nn.Module) -> None:
        super().__init__()
        self.resnet = resnet
        self.register_buffer("mean", 255 * torch.tensor([0.485, 0.456, 0.406]), persistent=False)
        self.register_buffer("deviation", 255 * torch.tensor([0.229, 0.224, 0.225]), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        """(b, 224, 224, 3) values 0 to 255 to (b, width, h, w)."""
        scaled = (pixels.float() - self.mean) / self.deviation
        # Contiguous: with the channels last, PyTorch crashed in the backward pass on a CPU.
        states: Tensor = self.resnet(pixel_values=scaled.permute(0, 3, 1, 2).contiguous()).last_hidden_state
        return states


def trained_network(network: ImageNetwork, name: str, dim: int) -> ImageBackbone:
    """Make a trained network usable as an image backbone, whose vectors lie in the joint space."""

    def forward(pixels: list[NDArray[np.uint8]], regions: bool) -> dict[str, NDArray[np.float32]]:
        with torch.inference_mode():
            return {"pooled": network(torch.from_numpy(np.stack(pixels))).numpy()}

    return network_backbone(name, dim, network.prepared, forward, at_least=WHOLE, cores=True, on_cpu=lambda: True)


def middle(image: Pillow.Image) -> NDArray[np.uint8]:
    """Cut the middle out of an RGB picture, for validation and linking: (224, 224, 3) of 256 x 256."""
    return _cut(_squashed(image, WHOLE), (WHOLE - SIDE) // 2, (WHOLE - SIDE) // 2)


def augmented(image: Pillow.Image, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Cut a random part out of an RGB picture for training: (224, 224, 3), rotated by up to 20°, sometimes mirrored."""
    mirror, angle = rng.random() < 0.5, float(rng.uniform(-TURN, TURN))
    left, top = (int(corner) for corner in rng.integers(0, WHOLE - SIDE + 1, 2))
    whole = _squashed(image, WHOLE)
    if mirror:
        whole = whole.transpose(Transpose.FLIP_LEFT_RIGHT)
    return _cut(whole.rotate(angle, Resampling.BILINEAR), left, top)


def resized(image: Pillow.Image) -> NDArray[np.uint8]:
    """Resize an RGB picture to (224, 224, 3), whatever its proportions: all of it is seen (Alikhani 2021)."""
    return np.asarray(_squashed(image, SIDE))


def _squashed(image: Pillow.Image, side: int) -> Pillow.Image:
    return image.resize((side, side), Resampling.BICUBIC, reducing_gap=2.0)


def _cut(whole: Pillow.Image, left: int, top: int) -> NDArray[np.uint8]:
    return np.asarray(whole.crop((left, top, left + SIDE, top + SIDE)))


def load_pixels(files: Sequence[str], rng: np.random.Generator | None, *, whole: bool = False) -> Tensor:
    """Decode pictures on all cores: (n, 224, 224, 3) uint8.

    Args:
        rng: Random numbers for augmentations in training; None for pictures as in linking.
        whole: Whether the network sees all of a picture, resized, in training too.
    """
    # Seeds are drawn here, so that the order of the threads does not matter.
    seeds = [None] * len(files) if rng is None else [int(seed) for seed in rng.integers(2**62, size=len(files))]

    def pixels(item: tuple[str, int | None]) -> NDArray[Any]:
        file, seed = item
        image = decode(Path(file), at_least=WHOLE)
        if whole:
            return resized(image)
        return middle(image) if seed is None else augmented(image, np.random.default_rng(seed))

    return torch.from_numpy(np.stack(list(in_threads(pixels, zip(files, seeds, strict=True)))))
