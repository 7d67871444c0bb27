"""A ResNet of Hugging Face transformers, the network of Alikhani 2021: frozen, or to be trained.

``resnet_backbone`` gives features of pictures, ``load_resnet`` the network itself. Other networks of others are read as
ONNX graphs, see ``graph_models``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError, one_line
from iconotext.extras import require
from iconotext.features.backbone import ImageBackbone, check_finite
from iconotext.features.decoding import SIDE, network_backbone
from iconotext.features.graph_files import checked_path, is_resnet, settings_of
from iconotext.features.graph_inputs import Pixels
from iconotext.features.hub_files import WEIGHTS
from iconotext.features.model_folder import revised_name
from iconotext.features.runtime import best_device, full_precision

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

MAX_LAYERS = 1000
"""Largest number of stages and layers that settings may ask for, since each takes time to make."""

_SETTINGS = (
    "num_channels",
    "embedding_size",
    "hidden_sizes",
    "depths",
    "layer_type",
    "hidden_act",
    "downsample_in_first_stage",
    "downsample_in_bottleneck",
)
"""The settings of a ResNet that decide what it computes."""


def load_resnet(name: str, folder: Path) -> tuple[torch.nn.Module, int]:
    """Load a ResNet for training, on the CPU, and the number of channels of its last feature map.

    Raises:
        FeatureError: The model is no ResNet, or its files do not belong together.
    """
    require("resnet", purpose=f"{name}: a ResNet")
    settings = settings_of(folder, "config.json") or {}
    if not is_resnet(folder):
        kind = settings.get("model_type", "a folder without settings")
        raise FeatureError(f"{name}: is {kind}, not a ResNet: name a folder such as that of microsoft/resnet-50")
    import torch
    from safetensors.torch import load_file
    from transformers import ResNetConfig, ResNetModel

    try:
        depths = settings.get("depths", ())
        if len(depths) + sum(map(abs, depths)) > MAX_LAYERS:
            raise ValueError(f"more than {MAX_LAYERS:,} layers")
        with torch.device("meta"):  # takes no memory, whatever sizes the settings ask for
            config = ResNetConfig(**{key: settings[key] for key in _SETTINGS if key in settings})
            resnet: torch.nn.Module = ResNetModel(config)
        width = list(config.hidden_sizes or ())[-1]
        stored = load_file(os.fspath(checked_path(folder, WEIGHTS)))
        # Those of a classifier have its name before theirs, and weights of its own.
        stored = {part.removeprefix("resnet."): tensor for part, tensor in stored.items()}
        weights = {part: stored[part] for part in resnet.state_dict()}
        floats = {part: tensor.float() for part, tensor in weights.items() if tensor.is_floating_point()}
        resnet.load_state_dict(weights | floats, assign=True)
    except FeatureError:
        raise
    except Exception as error:  # the libraries have no common base class for these errors
        raise FeatureError(f"{name}: cannot be loaded ({one_line(error)[:200]}): fetch the model again") from error
    check_finite(name, resnet.state_dict())
    return resnet.train().requires_grad_(True), width


def resnet_backbone(name: str, folder: Path) -> ImageBackbone:
    """Load a ResNet as an image backbone, whose features are the mean of its last feature map."""
    resnet, dim = load_resnet(name, folder)
    prepare, network = Pixels.of(folder, ()), resnet.to(best_device()).eval()

    def forward(pictures: list[NDArray[np.float32]], regions: bool) -> dict[str, NDArray[np.float32]]:
        import torch

        with full_precision(best_device()):
            pooled = network(pixel_values=torch.from_numpy(np.stack(pictures)).to(best_device())).pooler_output
            return {"pooled": pooled.flatten(1).cpu().numpy()}

    return network_backbone(revised_name(name, folder), dim, prepare, forward, at_least=max(SIDE, prepare.shorter))
