"""The image backbone in the package, loaded by ``load_efficientnet``: EfficientNet-Lite0 in 8 bits.

The network was trained on ImageNet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Resampling

from iconotext.features.backbone import ImageBackbone
from iconotext.features.decoding import network_backbone
from iconotext.features.model_folder import shipped_folder
from iconotext.features.runtime import WEIGHTS, chosen_runtime, open_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow

    Network = Callable[[NDArray[Any]], NDArray[np.float32]]


@cache
def imagenet_classes() -> tuple[str, ...]:
    """Return the names of the classes of ImageNet, all different, in the order of the usual classifiers."""
    text = files("iconotext.features").joinpath("imagenet_classes.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


FOLDER = shipped_folder("efficientnet-lite0")
NAME = "efficientnet-lite0-6c206460"
"""Name of the backbone with a digest of the weights: equal names mean equal features, whatever computes them."""

DIM = 1280
SIDE = 224


def load_efficientnet() -> ImageBackbone:
    """Load the backbone: 1280 features, 1000 ImageNet probabilities and 36 regions per picture.

    The features of a picture depend neither on the number of cores nor on other pictures in its batch. The weights are
    loaded when the first picture has to be encoded, so that runs with all pictures in the cache do not need them.
    """
    return network_backbone(
        f"{NAME}-whole",
        DIM,
        prepare,
        lambda pixels, regions: _features(*load_networks(chosen_runtime())[:2], np.stack(pixels), regions),
        at_least=SIDE,
        classes=imagenet_classes(),
        has_regions=True,
        cores=True,
        on_cpu=lambda: load_networks(chosen_runtime())[2],
    )


@cache
def load_networks(runtime: str) -> tuple[Network, Network, bool]:
    """Load the two parts of the network, and return with them whether they run on the CPU.

    One maps (b, 224, 224, 3) pixels to a (b, 7, 7, 1280) grid, the other (n, 1280) to (n, 1000) class probabilities.
    """
    if runtime == "onnx":
        network, classifier = open_graph(FOLDER / "network.onnx"), open_graph(FOLDER / "classifier.onnx")
        return lambda pixels: network(pixels=pixels), lambda features: classifier(features=features), True
    import torch

    from iconotext.features.eight_bits import load_weights, network_of
    from iconotext.features.runtime import best_device, full_precision

    device = best_device()
    lite = network_of(load_weights(FOLDER / WEIGHTS)).to(device)

    def grid(pixels: NDArray[Any]) -> NDArray[np.float32]:
        with full_precision(device):
            cells: NDArray[np.float32] = lite(torch.from_numpy(pixels).to(device)).permute(0, 2, 3, 1).cpu().numpy()
            return cells

    def classify(features: NDArray[Any]) -> NDArray[np.float32]:
        with full_precision(device):
            probabilities: NDArray[np.float32] = lite.classify(torch.from_numpy(features).to(device)).cpu().numpy()
            return probabilities

    return grid, classify, device.type == "cpu"


def prepare(image: Pillow.Image) -> NDArray[np.uint8]:
    """Resize an RGB picture to (224, 224, 3): the whole picture, squashed to a square.

    The network was trained on the middle 7/8 of squares. Squashing also shows it the edges, and in experiments (figures
    of textbooks and build logs, Flickr8k) brings pictures nearer to their sentences.
    """
    # reducing_gap first shrinks large pictures by integer factors: fast; at 2 it changes values by about 1 of 255.
    return np.asarray(image.resize((SIDE, SIDE), Resampling.BICUBIC, reducing_gap=2.0))


def _features(network: Network, classify: Network, pixels: NDArray[np.uint8], regions: bool) -> dict[str, NDArray[Any]]:
    grid = network(pixels)
    pooled = grid.mean((1, 2))
    arrays: dict[str, NDArray[Any]] = {"pooled": pooled, "probabilities": classify(pooled)}
    if regions:
        # Each cell of the 6 x 6 grid is the mean of two of the 7 rows and columns.
        rows = (grid[:, 1:] + grid[:, :-1]) / 2
        cells = (rows[:, :, 1:] + rows[:, :, :-1]) / 2
        probabilities = classify(cells.reshape(-1, DIM)).reshape(len(pixels), -1, arrays["probabilities"].shape[1])
        arrays["regions"] = cells.reshape(len(pixels), -1, DIM).astype(np.float16)
        arrays["region_classes"] = probabilities.argmax(2).astype(np.int16)
        arrays["region_scores"] = probabilities.max(2).astype(np.float16)
    return arrays
