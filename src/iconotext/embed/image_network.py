"""An image network that is trained along, from pixels to the joint space (Hessel 2019, supplement §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image as Pillow
from PIL.Image import Resampling, Transpose
from torch import Tensor, nn

from iconotext.embed.projection import Projection
from iconotext.features.backbone import ImageBackbone
from iconotext.features.decoding import network_backbone
from iconotext.features.efficientnet import weights_file
from iconotext.features.efficientnet_network import DIM, load_network

if TYPE_CHECKING:
    from numpy.typing import NDArray

WHOLE = 256
"""Side in pixels to which a picture is squashed first."""

SIDE = 224
"""Side of what the network sees of it."""

AT_ONCE = 32
"""Pictures that the network looks at together where no gradient is wanted; bounds memory."""

TURN = 20.0
"""Largest rotation in training, degrees to either side."""


class ImageNetwork(nn.Module):
    """EfficientNet-Lite0 from its ImageNet weights, and a projection behind it; all of it learns.

    The batch norms are folded into the convolutions, so they keep the statistics of ImageNet: a batch of one document's
    images is no sample to take statistics from.
    """

    def __init__(self, *, dim: int, dropout: float) -> None:
        super().__init__()
        self.network = load_network(weights_file()).train().requires_grad_(True)
        self.network.classifier.requires_grad_(False)  # has no part in the joint space
        self.projection = Projection(DIM, dim=dim, hidden=0, dropout=dropout, dropout_at="output")

    def forward(self, pixels: Tensor) -> Tensor:
        """(N, 224, 224, 3) values 0 to 255 → (N, dim), rows of length 1."""
        parts = [pixels] if torch.is_grad_enabled() else torch.split(pixels, AT_ONCE)
        return torch.cat([self.projection(self.network(part).mean((2, 3))) for part in parts])


def trained_network(network: nn.Module, name: str, dim: int) -> ImageBackbone:
    """A network that was trained along, as an image backbone: its vectors are those of the joint space.

    Args:
        network: An ``ImageNetwork`` on the CPU.
        name: A name that no other weights have.
        dim: Dimensions of the joint space.
    """

    def forward(pixels: list[NDArray[np.uint8]], regions: bool) -> dict[str, NDArray[np.float32]]:
        with torch.inference_mode():
            return {"pooled": network(torch.from_numpy(np.stack(pixels))).numpy()}

    cpu = torch.device("cpu")
    return network_backbone(name, dim, middle, forward, at_least=WHOLE, cores=True, device=lambda: cpu)


def middle(image: Pillow.Image) -> NDArray[np.uint8]:
    """An RGB picture as validation and linking see it: (224, 224, 3), the middle of 256 × 256."""
    return _cut(_squash(image), (WHOLE - SIDE) // 2, (WHOLE - SIDE) // 2)


def augmented(image: Pillow.Image, rng: np.random.Generator) -> NDArray[np.uint8]:
    """An RGB picture as training sees it: (224, 224, 3), mirrored or not, turned by up to 20°, a random part."""
    mirror, angle = rng.random() < 0.5, float(rng.uniform(-TURN, TURN))
    left, top = (int(corner) for corner in rng.integers(0, WHOLE - SIDE + 1, 2))
    whole = _squash(image)
    if mirror:
        whole = whole.transpose(Transpose.FLIP_LEFT_RIGHT)
    return _cut(whole.rotate(angle, Resampling.BILINEAR), left, top)


def _squash(image: Pillow.Image) -> Pillow.Image:
    return image.resize((WHOLE, WHOLE), Resampling.BICUBIC, reducing_gap=2.0)


def _cut(whole: Pillow.Image, left: int, top: int) -> NDArray[np.uint8]:
    return np.asarray(whole.crop((left, top, left + SIDE, top + SIDE)))
