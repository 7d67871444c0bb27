"""One step of training: forward, loss, backward, update."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from iconotext.train.adam import Adam
from iconotext.train.loss import batch_loss

if TYPE_CHECKING:
    from iconotext.embed.model import JointModel
    from iconotext.recipe import Recipe
    from iconotext.train.batches import Batch
    from iconotext.train.parallel import Processes


def make_optimizer(model: JointModel, recipe: Recipe) -> Adam:
    """Adam, or AdamW where there is weight decay; vectors, biases and the scale do not decay."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [each for each in trained if each.ndim > 1]
    return Adam(
        [(matrices, recipe.training.weight_decay), ([each for each in trained if each.ndim <= 1], 0.0)],
        rate=recipe.training.learning_rate,
    )


def training_step(
    processes: Processes,
    encode: Callable[..., Any],
    optimizer: Adam,
    batch: Batch,
    recipe: Recipe,
    *,
    epoch: int,
    step: int,
) -> Tensor:
    """Forward, loss, backward, update; what is random in it comes from seed, epoch, step and process alone.

    Args:
        processes: Where it runs.
        encode: The model as ``Processes.setup`` wrapped it.
        optimizer: Of its parameters, with the rate of this step.
        batch: Documents.
        recipe: Names similarity and objective.
        epoch: Counted from 0.
        step: Within the epoch, counted from 0.

    Returns:
        (P,) losses before the update.
    """
    seed = int(np.random.SeedSequence([recipe.seed, epoch, step, processes.rank]).generate_state(1, np.uint64)[0])
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    losses, _, _ = batch_loss(encode, batch.to(processes.device), recipe, epoch=epoch, generator=generator)
    optimizer.zero_grad()
    processes.backward(losses.mean())
    if recipe.training.clip is not None:
        torch.nn.utils.clip_grad_norm_(optimizer.parameters, recipe.training.clip)
    optimizer.step()
    return losses.detach()
