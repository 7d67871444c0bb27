"""The backbones in the package as PyTorch modules, in 8 bits: ``Bert`` and ``EfficientNetLite0``.

``load_weights`` reads the weights of both, ``network_of`` makes an EfficientNet-Lite0 of them. Numbers are rounded to
256 values, but stored as floating point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional


def quantized(x: Tensor, step: Tensor, zero: Tensor) -> Tensor:
    """Round numbers to one of 256 values: ``step`` times an integer from ``-zero`` to ``255 - zero``."""
    return torch.fake_quantize_per_tensor_affine(x, step, zero, 0, 255)


def load_weights(path: Path) -> dict[str, Tensor]:
    """Load the weights of an encoder as real numbers, matrices as (outputs, inputs).

    Integers NAME are multiplied by NAME.step, which has one value for each output of a matrix, convolution or bias, and
    for each row of a table. The steps for rounding inputs are returned unchanged.

    Args:
        path: A safetensors file from ``fitting/encoders.py``, with matrices as (inputs, outputs).
    """
    stored = load_file(path)
    weights = {}
    for name, tensor in stored.items():
        step = stored.get(f"{name}.step")
        if step is not None:
            real = tensor.float() * (step[:, None, None, None] if tensor.ndim == 4 else step)
            weights[name] = real.T.contiguous() if real.ndim == 2 and step.ndim == 1 else real
        elif not (name.endswith(".step") and name.removesuffix(".step") in stored):
            weights[name] = tensor.to(torch.int32) if name.endswith(".zero") else tensor
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class Bert:
    """A BERT encoder.

    Attributes:
        weights: (outputs, inputs) weights by their names in transformers; ``embeddings.position`` has the vectors added
            to tokens by position. If ``NAME.step`` and ``NAME.zero`` exist, the input of layer NAME is first multiplied
            by ``NAME.evening`` and then rounded to 8 bits.
    """

    weights: Mapping[str, Tensor]
    layers: int
    heads: int
    epsilon: float

    def layer_means(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Compute the mean over each text's tokens of the embeddings and of every layer.

        Args:
            ids: (n, t) int64 tokens, padded on the right with any token.
            mask: (n, t) bool, True for a real token; at least one in each row.

        Returns:
            (n, (layers + 1) * dim), the embeddings first.
        """
        share = mask.to(torch.float32)[:, None]
        share = share / share.sum(2, keepdim=True)  # (n, 1, t)
        x = functional.embedding(ids, self.weights["embeddings.word.weight"])
        x = self._norm(x + self.weights["embeddings.position"][: ids.shape[1]], "embeddings.LayerNorm")
        means = [share @ x]
        for layer in range(self.layers):
            x = self._layer(x, mask[:, None, None, :], f"encoder.layer.{layer}")
            means.append(share @ x)
        return torch.cat(means, dim=2)[:, 0]

    def _layer(self, x: Tensor, mask: Tensor, name: str) -> Tensor:
        inputs = self._quantized(x, f"{name}.attention.self")
        query, key, value = (
            self._linear(inputs, f"{name}.attention.self.{part}").view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )  # (n, heads, t, dim / heads)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = attended.transpose(1, 2).flatten(2)  # (n, t, dim)
        x = self._added(x, attended, f"{name}.attention.output")
        hidden = self._linear(self._quantized(x, f"{name}.intermediate.dense"), f"{name}.intermediate.dense")
        return self._added(x, functional.gelu(hidden), f"{name}.output")

    def _added(self, x: Tensor, more: Tensor, name: str) -> Tensor:
        more = self._linear(self._quantized(more, f"{name}.dense"), f"{name}.dense")
        return self._norm(x + more, f"{name}.LayerNorm")

    def _quantized(self, x: Tensor, name: str) -> Tensor:
        step = self.weights.get(f"{name}.step")
        if step is None:
            return x
        return quantized(x * self.weights[f"{name}.evening"], step, self.weights[f"{name}.zero"])

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, self.epsilon)


STAGES = (  # (blocks, kernel, stride of the first, expansion, channels)
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
PIXELS = 127.0, 128.0
"""Mean and scale of pixels: the mean is subtracted from a value, then it is divided by the scale."""

STEM, DIM, CLASSES = 32, 1280, 1000


class Rounding(nn.Module):
    """Rounds to 8 bits once it has a step; without a step, as in training, it does nothing."""

    step: Tensor | None
    zero: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("step", None, persistent=False)
        self.register_buffer("zero", None, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Round a tensor of any shape."""
        return x if self.step is None or self.zero is None else quantized(x, self.step, self.zero)


class SameConv(nn.Module):
    """Convolution with bias, padded like TensorFlow's for inputs whose sides are divisible by the stride."""

    def __init__(
        self, inputs: int, outputs: int, *, kernel: int, stride: int = 1, groups: int = 1, relu: bool = True
    ) -> None:
        super().__init__()
        total = kernel - stride  # TensorFlow's total padding; the odd pixel goes to the right and to the bottom
        self.before, self.after = total // 2, total - total // 2
        symmetric = self.before if self.before == self.after else 0
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, symmetric, groups=groups)
        self.relu = relu
        self.rounding = Rounding()

    def forward(self, x: Tensor) -> Tensor:
        """Turn (b, inputs, h, w) into (b, outputs, h / stride, w / stride)."""
        if self.before != self.after:
            x = functional.pad(x, (self.before, self.after, self.before, self.after))
        if self.conv.kernel_size == (1, 1):
            # A matrix product over the channels, which are contiguous: as a convolution, PyTorch takes up to twice as
            # long on one core, since it copies the pixels.
            weight = self.conv.weight.flatten(1)
            x = functional.linear(x.permute(0, 2, 3, 1), weight, self.conv.bias).permute(0, 3, 1, 2)
        else:
            x = self.conv(x)
        output: Tensor = self.rounding(functional.relu6(x, inplace=True) if self.relu else x)
        return output


class Block(nn.Module):
    """Inverted residual block: it expands the channels, filters each channel separately, and projects."""

    def __init__(self, inputs: int, outputs: int, *, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand = SameConv(inputs, hidden, kernel=1) if expansion > 1 else nn.Identity()
        self.filter = SameConv(hidden, hidden, kernel=kernel, stride=stride, groups=hidden)
        self.project = SameConv(hidden, outputs, kernel=1, relu=False)
        self.residual = stride == 1 and inputs == outputs
        self.rounding = Rounding()

    def forward(self, x: Tensor) -> Tensor:
        """Turn (b, inputs, h, w) into (b, outputs, h / stride, w / stride)."""
        y: Tensor = self.project(self.filter(self.expand(x)))
        return self.rounding(y.add_(x)) if self.residual else y


class EfficientNetLite0(nn.Module):
    """The network from pixels to the last feature map; ``classify`` takes cells of the map or their mean."""

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
        self.rounding = Rounding()  # of the classifier's input
        self.classifier = nn.Linear(DIM, CLASSES)

    def forward(self, pixels: Tensor) -> Tensor:
        """Turn (b, 224, 224, 3) values 0 to 255 into a feature map (b, 1280, 7, 7), never negative."""
        x = pixels.permute(0, 3, 1, 2).float().sub_(PIXELS[0]).div_(PIXELS[1])  # channels last, as torch calls it
        features: Tensor = self.head(self.blocks(self.stem(x)))
        return features

    def classify(self, features: Tensor) -> Tensor:
        """Turn (..., 1280) features into (..., 1000) probabilities."""
        probabilities: Tensor = self.classifier(self.rounding(features)).softmax(-1)
        return probabilities


def network_of(weights: Mapping[str, Tensor], *, rounding: bool = True) -> EfficientNetLite0:
    """Make the network with pretrained weights, ready for inference."""
    with torch.device("meta"):  # saves filling 5 million weights with random numbers
        network = EfficientNetLite0()
    steps = {name: tensor for name, tensor in weights.items() if name.endswith((".step", ".zero"))}
    network.load_state_dict({name: tensor for name, tensor in weights.items() if name not in steps}, assign=True)
    for name, module in network.named_modules():
        if rounding and isinstance(module, Rounding) and f"{name}.step" in steps:
            module.step, module.zero = steps[f"{name}.step"], steps[f"{name}.zero"]
    for parameter in network.parameters():
        if parameter.ndim == 4:  # convolution weights: channels last, like the pixels
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return network.eval().requires_grad_(False)
