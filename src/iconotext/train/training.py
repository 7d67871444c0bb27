"""A training run as one of its processes sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.recipe import Recipe, dump_recipe
from iconotext.train.checkpoint import Checkpoint, Progress, save_checkpoint
from iconotext.train.start import Start, new_model
from iconotext.train.step import make_optimizer

if TYPE_CHECKING:
    from torch.optim import AdamW

    from iconotext.embed.model import JointModel
    from iconotext.train.parallel import Processes, Watcher
    from iconotext.train.prepared import Prepared


@dataclass(eq=False)
class Training:
    """A run as one of its processes sees it.

    Attributes:
        watcher: Called as it goes on; only in the first process.
        encode: The model as ``processes`` wrapped it.
    """

    recipe: Recipe
    prepared: Prepared
    folder: Path
    processes: Processes
    watcher: Watcher | None
    start: Start
    encode: Callable[..., Any]
    optimizer: AdamW
    progress: Progress

    @property
    def model(self) -> JointModel:
        """The model itself."""
        return self.start.model

    @property
    def trained_by(self) -> Recipe:
        """The recipe, or where it learned nothing and is begun again, what it has as a remedy."""
        if self.progress.collapsed is None:
            return self.recipe
        objective = self.recipe.objective
        remedy = objective.model_copy(update={"mean_epochs": objective.remedy_epochs})
        return self.recipe.model_copy(update={"objective": remedy})

    def begin_again(self) -> None:
        """Forget all but that nothing was learned."""
        self.model.load_state_dict(new_model(self.recipe, self.prepared).model.state_dict())
        self.optimizer = make_optimizer(self.model, self.recipe)
        self.progress = Progress(collapsed=self.progress.epoch)

    @property
    def main(self) -> bool:
        """Whether this is the process that writes."""
        return self.processes.rank == 0

    def save_checkpoint(self) -> None:
        """Write all that is needed to go on from here."""
        save_checkpoint(
            self.folder,
            Checkpoint(
                dump_recipe(self.recipe),
                self.prepared.meta["key"],
                self.progress,
                self.model.state_dict(),
                self.optimizer.state_dict(),
            ),
        )
