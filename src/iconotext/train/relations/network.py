"""The networks of a relation model: one hidden layer over the means of the text's layers, for all labels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from iconotext.errors import TrainingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.recipe.relations import RelationSettings


def fit_network(
    rows: NDArray[np.float32], answers: NDArray[np.float32], settings: RelationSettings, seed: int
) -> tuple[NDArray[np.float32], ...]:
    """Train a network with a rectified hidden layer on binary cross-entropy over the answers that there are.

    Labels that few people answered, or that nobody will ask the model about, still shape the hidden layer.

    Args:
        rows: (n, D), standardised.
        answers: (n, K) 1, 0, or NaN where there is none.
        settings: See ``RelationSettings``.
        seed: Of starts, order and dropout; the same seed on the same machine gives the same weights.

    Returns:
        Hidden weights (D, H) and biases (H,), output weights (H, K) and biases (K,).

    Raises:
        TrainingError: The loss is no number any more.
    """
    drawn = torch.Generator().manual_seed(seed)
    x = torch.from_numpy(rows)
    there = torch.from_numpy(~np.isnan(answers))
    y = torch.from_numpy(np.nan_to_num(answers))
    hidden = _linear(x.shape[1], settings.hidden, drawn)
    output = _linear(settings.hidden, y.shape[1], drawn)
    rates = (y.sum(0) + 0.5) / (there.sum(0) + 1)
    output.bias.data = torch.logit(rates)
    parameters = [*hidden.parameters(), *output.parameters()]
    optimizer = torch.optim.AdamW(parameters, settings.learning_rate, weight_decay=settings.weight_decay)
    batches = max(1, len(x) // settings.batch)
    steps = settings.epochs * batches
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in range(settings.epochs):
        order = torch.randperm(len(x), generator=drawn)
        for batch in order.tensor_split(batches):
            inputs = _dropped(x[batch], settings.input_dropout, drawn)
            logits = output(_dropped(torch.relu(hidden(inputs)), settings.dropout, drawn))
            losses = nn.functional.binary_cross_entropy_with_logits(logits, y[batch], reduction="none")
            loss = (losses * there[batch]).sum() / there[batch].sum().clamp(min=1)
            if not torch.isfinite(loss):
                raise TrainingError("the loss of the relation model is no longer a number: lower its learning_rate")
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            optimizer.step()
            schedule.step()
    return tuple(
        np.ascontiguousarray(array.detach().numpy())
        for array in (hidden.weight.T, hidden.bias, output.weight.T, output.bias)
    )


def _linear(inputs: int, outputs: int, drawn: torch.Generator) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu", generator=drawn)
    nn.init.zeros_(layer.bias)
    return layer


def _dropped(x: torch.Tensor, share: float, drawn: torch.Generator) -> torch.Tensor:
    """Dropout with its own source of chance, so that no other use of torch's changes what is trained."""
    return x * (torch.rand(x.shape, generator=drawn) >= share) / (1 - share) if share else x
