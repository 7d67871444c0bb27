"""Adam, as PyTorch computes it in one pass over the weights.

``torch.optim`` imports PyTorch's compiler when the first optimizer is made, which takes longer than the first steps of
a small run; this one does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class Adam:
    """Adam (Kingma and Ba 2014), with the weight decay of AdamW (Loshchilov and Hutter 2019) where there is any.

    Attributes:
        rate: The learning rate of the next step.
    """

    BETAS = (0.9, 0.999)
    EPSILON = 1e-8

    def __init__(self, groups: Sequence[tuple[Sequence[torch.nn.Parameter], float]], *, rate: float) -> None:
        """Take parameters in groups, each with its weight decay."""
        self.rate = rate
        self._groups = [(list(parameters), decay) for parameters, decay in groups if parameters]
        self._state: dict[torch.nn.Parameter, tuple[Tensor, Tensor, Tensor]] = {}

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        """All of them, in the order of the state."""
        return [parameter for parameters, _ in self._groups for parameter in parameters]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for parameters, decay in self._groups:
            moved = [parameter for parameter in parameters if parameter.grad is not None]
            gradients = [parameter.grad for parameter in moved if parameter.grad is not None]
            if not moved:
                continue
            first, second, steps = (list(each) for each in zip(*map(self._moments, moved), strict=True))
            torch._foreach_add_(steps, 1.0)
            update = torch._fused_adamw_ if decay else torch._fused_adam_
            update(
                list[Tensor](moved),
                gradients,
                first,
                second,
                [],
                steps,
                lr=self.rate,
                beta1=self.BETAS[0],
                beta2=self.BETAS[1],
                weight_decay=decay,
                eps=self.EPSILON,
                amsgrad=False,
                maximize=False,
            )

    def state(self) -> dict[str, Any]:
        """Means of gradients and of their squares, and steps, for each parameter in order; None before the first."""
        return {"moments": [list(self._state[p]) if p in self._state else None for p in self.parameters]}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what ``state`` gave."""
        for parameter, moments in zip(self.parameters, state["moments"], strict=True):
            if moments is not None:
                first, second, steps = (each.to(parameter.device, copy=True) for each in moments)
                self._state[parameter] = (first, second, steps)

    def _moments(self, parameter: torch.nn.Parameter) -> tuple[Tensor, Tensor, Tensor]:
        if parameter not in self._state:
            zeros = torch.zeros_like(parameter, memory_format=torch.preserve_format)
            self._state[parameter] = (zeros, zeros.clone(), torch.zeros((), device=parameter.device))
        return self._state[parameter]
