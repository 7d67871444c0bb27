"""The device on which backbones compute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def best_device() -> torch.device:
    """The first GPU that CUDA offers, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def looking(device: torch.device) -> Iterator[None]:
    """Run without gradients and in full float32.

    A GPU's convolutions would otherwise round to 10 bits (TF32), and results in a shared cache would differ between
    machines.
    """
    import torch

    exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=False)
    with torch.inference_mode(), exact if device.type == "cuda" else nullcontext():
        yield


def on_gpu() -> bool:
    """Whether ``best_device`` is a GPU."""
    return best_device().type == "cuda"
