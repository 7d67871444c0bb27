"""One step of training: forward, loss, backward, update."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import AdamW

from iconotext.train.loss import batch_loss

if TYPE_CHECKING:
    from iconotext.embed.model import JointModel
    from iconotext.recipe import Recipe
    from iconotext.train.batches import Batch
    from iconotext.train.parallel import Processes


def make_optimizer(model: JointModel, recipe: Recipe) -> AdamW:
    """AdamW, which is Adam without weight decay; vectors, biases and the scale never decay."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [each for each in trained if each.ndim > 1], "weight_decay": recipe.training.weight_decay},
        {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=recipe.training.learning_rate, fused=True)


def training_step(
    processes: Processes,
    encode: Callable[..., Any],
    optimizer: AdamW,
    batch: Batch,
    recipe: Recipe,
    *,
    epoch: int,
    step: int,
    rate: float,
) -> Tensor:
    """Do one step, and return the (P,) losses before it; randomness depends on seed, epoch, step and process alone.

    Args:
        encode: The model, wrapped by ``setup_module``.
        step: Within the epoch, counted from 0.
    """
    seed = int(
        np.random.SeedSequence([recipe.seed, epoch, step, processes.global_rank]).generate_state(1, np.uint64)[0]
    )
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    losses, _, _ = batch_loss(encode, batch.to(processes.device), recipe, epoch=epoch, generator=generator)
    optimizer.zero_grad()
    processes.backward(losses.mean())
    if recipe.training.clip is not None:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        torch.nn.utils.clip_grad_norm_(parameters, recipe.training.clip)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return losses.detach()


def has_gradient(model: JointModel) -> bool:
    """Whether any weight had a gradient other than 0 in the last step."""
    return any(each.grad is not None and bool(each.grad.any()) for each in model.parameters())
