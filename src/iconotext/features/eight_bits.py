"""8-bit numbers in PyTorch: rounded to 256 values, but stored as floating point."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor


def rounded(x: Tensor, step: Tensor, zero: Tensor) -> Tensor:
    """Inputs rounded to one of 256 values: ``step`` times an integer from ``-zero`` to ``255 - zero``."""
    return torch.fake_quantize_per_tensor_affine(x, step, zero, 0, 255)


def load_weights(path: Path) -> dict[str, Tensor]:
    """The weights of an encoder as real numbers, matrices as (outputs, inputs).

    Integers NAME are multiplied by NAME.step, which has one value for each output of a matrix, convolution or bias, and
    for each row of a table. The steps for rounding inputs are returned unchanged.

    Args:
        path: A safetensors file from ``benchmarks/encoders.py``, with matrices as (inputs, outputs).
    """
    stored = load_file(path)
    found = {}
    for name, tensor in stored.items():
        step = stored.get(f"{name}.step")
        if step is not None:
            real = tensor.float() * (step[:, None, None, None] if tensor.ndim == 4 else step)
            found[name] = real.T.contiguous() if real.ndim == 2 and step.ndim == 1 else real
        elif not (name.endswith(".step") and name.removesuffix(".step") in stored):
            found[name] = tensor.to(torch.int32) if name.endswith(".zero") else tensor
    return found
