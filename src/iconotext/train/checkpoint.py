"""Everything that a training run needs to go on as if it had never stopped, in one file that is whole or not there."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from iconotext.errors import TrainingError
from iconotext.train.schedule import Plateau
from iconotext.write import write_bytes

CHECKPOINT = "checkpoint.pt"

Weights = dict[str, Tensor]


@dataclass(slots=True)
class Progress:
    """How far training is, after whole epochs. Chance is drawn anew from seed, epoch and step, so it has no state.

    Attributes:
        epoch: Epochs done.
        history: A row of the log for each.
        plateau: State of the schedule.
        kept: Validation loss, epoch and weights of the best epochs, the best first; see ``training.average``.
    """

    epoch: int = 0
    history: list[dict[str, float | None]] = field(default_factory=list)
    plateau: Plateau = field(default_factory=Plateau)
    kept: list[tuple[float, int, Weights]] = field(default_factory=list)

    def keep(self, loss: float, weights: Weights, *, count: int) -> None:
        """Remember the weights after the latest epoch if it is one of the ``count`` best; of equal ones the earlier."""
        ranked = [*((loss_, epoch) for loss_, epoch, _ in self.kept), (loss, self.epoch)]
        if (loss, self.epoch) in sorted(ranked)[:count]:
            copied = {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights.items()}
            self.kept = sorted([*self.kept, (loss, self.epoch, copied)], key=lambda each: each[:2])[:count]

    def best_weights(self) -> Weights:
        """The mean of the weights that are kept."""
        return {
            name: torch.stack([weights[name].double() for _, _, weights in self.kept]).mean(0).to(tensor.dtype)
            for name, tensor in self.kept[0][2].items()
        }


def save_checkpoint(folder: Path, recipe: str, progress: Progress, model: Weights, optimizer: dict[str, Any]) -> None:
    """Write the checkpoint; who is killed meanwhile finds the old one."""
    state = {
        "recipe": recipe,
        "epoch": progress.epoch,
        "history": progress.history,
        "plateau": asdict(progress.plateau),
        "kept": progress.kept,
        "model": model,
        "optimizer": optimizer,
    }
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_bytes(folder / CHECKPOINT, buffer.getvalue(), force=True)


def load_checkpoint(folder: Path) -> tuple[str, Progress, Weights, dict[str, Any]] | None:
    """The recipe, the progress, the model's and the optimizer's state; None where there is no checkpoint.

    Raises:
        TrainingError: The file is damaged.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        progress = Progress(
            state["epoch"], state["history"], Plateau(**state["plateau"]), [tuple(kept) for kept in state["kept"]]
        )
        return state["recipe"], progress, state["model"], state["optimizer"]
    except Exception as error:  # whatever a damaged pickle raises
        raise TrainingError(f"{path}: damaged; remove it to begin this model anew ({error})") from error
