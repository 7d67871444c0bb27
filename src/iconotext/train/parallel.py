"""One process or several: what Lightning Fabric needs to know, and nothing else about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from iconotext.errors import SettingError

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from iconotext.recipe import TrainingSettings
    from iconotext.train.run import _Run


def make_fabric(settings: TrainingSettings) -> Fabric:
    """Devices and precision as the recipe has them: GPUs where there are any, else the CPU.

    Raises:
        SettingError: More GPUs are wanted than there are.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        from lightning_fabric import Fabric

    gpus = torch.cuda.device_count()
    if gpus and settings.devices > gpus:
        raise SettingError(f"training.devices is {settings.devices}; there are {gpus} GPUs")
    return Fabric(
        accelerator="cuda" if gpus else "cpu",
        devices=settings.devices,
        strategy="ddp_spawn" if settings.devices > 1 else "auto",
        precision="bf16-mixed" if settings.precision == "bf16" else "32-true",
    )


def launch(work: Callable[..., None], run: _Run) -> None:
    """Run ``work`` in each of the recipe's processes."""
    fabric = make_fabric(run.recipe.training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if run.recipe.training.devices > 1:
            fabric.launch(work, run)
        else:
            work(fabric, run)
