"""EfficientNet-Lite0 in plain PyTorch, for looking only: batch norms are folded into the convolutions.

Reference: https://github.com/tensorflow/tpu/tree/master/models/official/efficientnet/lite, EfficientNet (Tan and Le,
ICML 2019) without squeeze-and-excitation and with ReLU6. The weights, and the names in them, are those of the package
``efficientnet_lite_pytorch``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

STAGES = (  # (blocks, kernel, stride of the first, expansion, channels)
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
EPSILON = 1e-3  # of every batch norm
STEM, DIM, CLASSES = 32, 1280, 1000


class SameConv(nn.Module):
    """Convolution with bias, padded as TensorFlow does for inputs whose sides its stride divides."""

    def __init__(
        self, inputs: int, outputs: int, *, kernel: int, stride: int = 1, groups: int = 1, relu: bool = True
    ) -> None:
        super().__init__()
        total = kernel - stride  # TensorFlow's total padding; the odd pixel goes to the right and to the bottom
        self.before, self.after = total // 2, total - total // 2
        symmetric = self.before if self.before == self.after else 0
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, symmetric, groups=groups)
        self.relu = relu

    def forward(self, x: Tensor) -> Tensor:
        """(b, inputs, h, w) to (b, outputs, h / stride, w / stride)."""
        if self.before != self.after:
            x = functional.pad(x, (self.before, self.after, self.before, self.after))
        if self.conv.kernel_size == (1, 1):
            # A matrix product over the channels, which lie next to each other: as a convolution the same takes PyTorch
            # up to twice as long on one core, where it copies pixels to and fro.
            weight = self.conv.weight.flatten(1)
            x = functional.linear(x.permute(0, 2, 3, 1), weight, self.conv.bias).permute(0, 3, 1, 2)
        else:
            x = self.conv(x)
        return functional.relu6(x, inplace=True) if self.relu else x


class Block(nn.Module):
    """Inverted residual: expand, filter each channel by itself, project."""

    def __init__(self, inputs: int, outputs: int, *, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand = SameConv(inputs, hidden, kernel=1) if expansion > 1 else nn.Identity()
        self.filter = SameConv(hidden, hidden, kernel=kernel, stride=stride, groups=hidden)
        self.project = SameConv(hidden, outputs, kernel=1, relu=False)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """(b, inputs, h, w) to (b, outputs, h / stride, w / stride)."""
        y: Tensor = self.project(self.filter(self.expand(x)))
        return y.add_(x) if self.residual else y


class EfficientNetLite0(nn.Module):
    """From pixels to the last feature map; ``classify`` goes on from its cells or from their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = SameConv(3, STEM, kernel=3, stride=2)
        blocks, inputs = [], STEM
        for count, kernel, stride, expansion, outputs in STAGES:
            for i in range(count):
                step = stride if i == 0 else 1
                blocks.append(Block(inputs, outputs, kernel=kernel, stride=step, expansion=expansion))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = SameConv(inputs, DIM, kernel=1)
        self.classifier = nn.Linear(DIM, CLASSES)

    def forward(self, pixels: Tensor) -> Tensor:
        """(b, 224, 224, 3) values 0 to 255 to a feature map (b, 1280, 7, 7), never negative."""
        x = pixels.permute(0, 3, 1, 2).float().sub_(127.0).div_(128.0)  # channels last, as torch calls it
        features: Tensor = self.head(self.blocks(self.stem(x)))
        return features

    def classify(self, features: Tensor) -> Tensor:
        """(..., 1280) to probabilities (..., 1000)."""
        probabilities: Tensor = self.classifier(features).softmax(-1)
        return probabilities


def load_network(weights: Path) -> EfficientNetLite0:
    """The network with pretrained weights, ready to look.

    Raises:
        KeyError, RuntimeError: The file holds other weights.
    """
    state = torch.load(weights, map_location="cpu", weights_only=True)
    with torch.device("meta"):  # spares filling 5 million weights with random numbers that are thrown away
        network = EfficientNetLite0()
    folded = {"classifier.weight": state["_fc.weight"], "classifier.bias": state["_fc.bias"]}
    folded |= _folded(state, "stem", "_conv_stem", "_bn0") | _folded(state, "head", "_conv_head", "_bn1")
    for i, block in enumerate(network.blocks):
        parts = [("filter", "_depthwise_conv", "_bn1"), ("project", "_project_conv", "_bn2")]
        if isinstance(block.expand, SameConv):
            parts.append(("expand", "_expand_conv", "_bn0"))
        for ours, conv, norm in parts:
            folded |= _folded(state, f"blocks.{i}.{ours}", f"_blocks.{i}.{conv}", f"_blocks.{i}.{norm}")
    network.load_state_dict(folded, assign=True)
    for parameter in network.parameters():
        if parameter.ndim == 4:  # weights of convolutions: channels last, as the pixels come
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return network.eval().requires_grad_(False)


def _folded(state: Mapping[str, Tensor], ours: str, conv: str, norm: str) -> dict[str, Tensor]:
    """A convolution and the batch norm behind it as one convolution with bias."""
    scale = state[f"{norm}.weight"] / torch.sqrt(state[f"{norm}.running_var"] + EPSILON)
    return {
        f"{ours}.conv.weight": state[f"{conv}.weight"] * scale[:, None, None, None],
        f"{ours}.conv.bias": state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * scale,
    }
