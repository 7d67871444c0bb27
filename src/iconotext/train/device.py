"""Where a run computes: on the GPU if there is one; and the watcher that it tells of its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from iconotext.encoders.joint_model import JointModel
    from iconotext.recipe import TrainingSettings


class Watcher(Protocol):
    """Shows the progress of a run to the user."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """Called after each step."""

    def epoch(self, row: dict[str, float | None]) -> None:
        """Called after each epoch, with its row of the log."""


def best_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def placed(model: JointModel, settings: TrainingSettings, device: torch.device) -> Callable[..., Any]:
    """Move a model to a device, and return a function that calls it in the recipe's precision."""
    model.to(device)
    if settings.precision != "bf16":
        return model

    def forward(*inputs: Any, **kwargs: Any) -> Any:
        with torch.autocast(device.type, torch.bfloat16):
            return model(*inputs, **kwargs)

    return forward
