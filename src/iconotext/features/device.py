"""Where backbones compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def best_device() -> torch.device:
    """The first GPU that CUDA offers, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def image_batch(device: torch.device) -> int:
    """Pictures in a batch: as many as keep the device busy and memory small."""
    return 256 if device.type == "cuda" else 32
