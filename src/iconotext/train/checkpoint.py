"""Checkpoints: everything that a training run needs to continue as if never interrupted, in one atomic file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import TrainingError
from iconotext.train.schedule import Plateau
from iconotext.write import open_atomic

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]

CHECKPOINT = "checkpoint.pt"


@dataclass(slots=True)
class Progress:
    """How far training is. Random numbers follow from seed, epoch and step, so they need no state.

    Attributes:
        epoch: Number of finished epochs.
        step: Number of finished steps of the current epoch.
        total: Sum of the losses in these steps.
        count: Number of these losses.
        still: Number of these steps without a gradient.
        collapsed: Epoch after which the run was restarted because it had learned nothing; None if it was not.
        before: Validation figures of the model that training starts from, as in ``metrics.json``; None if its weights
            are random.
        history: A row of the log for each finished epoch.
        kept: Validation loss or median rank, epoch and weights of the best epochs, best first; see
            ``training.average``.
    """

    epoch: int = 0
    step: int = 0
    total: float = 0.0
    count: int = 0
    seconds: float = 0.0
    still: int = 0
    collapsed: int | None = None
    before: dict[str, float | None] | None = None
    history: list[dict[str, float | None]] = field(default_factory=list)
    plateau: Plateau = field(default_factory=Plateau)
    kept: list[tuple[float, int, Weights]] = field(default_factory=list)

    def end_epoch(self, row: dict[str, float | None]) -> None:
        """Count the current epoch as finished."""
        self.history.append(row)
        self.epoch, self.step, self.still = self.epoch + 1, 0, 0
        self.total, self.count, self.seconds = 0.0, 0, 0.0

    def keep(self, value: float, weights: Mapping[str, Tensor], *, count: int) -> None:
        """Keep the weights of the latest epoch if it is among the ``count`` best; ties go to the earlier epoch."""
        ranked = [*((value_, epoch) for value_, epoch, _ in self.kept), (value, self.epoch)]
        if (value, self.epoch) in sorted(ranked)[:count]:
            copied = {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights.items()}
            self.kept = sorted([*self.kept, (value, self.epoch, copied)], key=lambda each: each[:2])[:count]

    def best_weights(self) -> Weights:
        """The mean of the kept weights."""
        import torch

        return {
            name: torch.stack([weights[name].double() for _, _, weights in self.kept]).mean(0).to(tensor.dtype)
            for name, tensor in self.kept[0][2].items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The contents of the file, with the resolved recipe as TOML and the key of the prepared corpus."""

    recipe: str
    corpus: str
    progress: Progress
    model: Mapping[str, Tensor]
    optimizer: Mapping[str, Any]


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint atomically."""
    import torch

    progress = checkpoint.progress
    state = {
        "recipe": checkpoint.recipe,
        "corpus": checkpoint.corpus,
        "progress": {name: getattr(progress, name) for name in Progress.__slots__ if name != "plateau"},
        "plateau": asdict(progress.plateau),
        "model": dict(checkpoint.model),
        "optimizer": dict(checkpoint.optimizer),
    }
    with open_atomic(folder / CHECKPOINT, force=True) as file:
        torch.save(state, file)


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Read the checkpoint; None if there is none; ``TrainingError`` if the file is damaged."""
    import torch

    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        progress = Progress(**state["progress"], plateau=Plateau(**state["plateau"]))
        progress.kept = [(loss, epoch, weights) for loss, epoch, weights in progress.kept]
        return Checkpoint(state["recipe"], state["corpus"], progress, state["model"], state["optimizer"])
    except Exception as error:  # a damaged pickle may raise anything
        raise TrainingError(
            f"{path}: damaged; remove it to begin this model again ({' '.join(str(error).split()):.200})"
        ) from error
