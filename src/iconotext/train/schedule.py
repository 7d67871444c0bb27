"""The learning rate: rises at the beginning, falls when the validation loss stops falling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from iconotext.recipe import TrainingSettings

START_RATE = 1e-7
"""First rate of a warm-up in steps (Li 2021)."""


@dataclass(slots=True)
class Plateau:
    """Divides the rate by ``factor`` after ``patience`` epochs without a lower validation loss (Hessel 2019 §4).

    Attributes:
        best: Lowest validation loss so far.
        waited: Number of epochs since the lowest loss, or since the last division.
        divided: Number of divisions.
        begun: Whether any loss was better than that of equal similarities; earlier epochs are not counted.
    """

    best: float = math.inf
    waited: int = 0
    divided: int = 0
    begun: bool = False

    def see(self, loss: float, settings: TrainingSettings, *, steps: int, informed: bool) -> None:
        """Record an epoch's validation loss; ``informed`` is whether it is below that of equal similarities."""
        if steps < settings.warmup_steps:  # the loss depends on the warm-up, not on learning
            return
        self.begun = self.begun or informed
        if loss < self.best:
            self.best, self.waited = loss, 0
        elif self.begun:
            self.waited += 1
        if self.waited >= settings.patience:
            self.divided, self.waited = self.divided + 1, 0


def learning_rate(settings: TrainingSettings, epoch: int, step: int, *, steps: int, plateau: Plateau) -> float:
    """Compute the rate of a step."""
    progress = epoch + (step + 1) / steps  # in epochs
    rate = settings.learning_rate
    steps_done = epoch * steps + step + 1
    if steps_done < settings.warmup_steps:
        return START_RATE + (rate - START_RATE) * steps_done / settings.warmup_steps
    if progress < settings.warmup:
        rate *= progress / settings.warmup
    elif settings.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * (progress - settings.warmup) / (settings.epochs - settings.warmup)))
    if settings.schedule == "plateau":
        rate /= settings.factor**plateau.divided
    return rate
