"""What a training run keeps while it runs: its checkpoint and its log.

A checkpoint is the state that it needs to continue as if never interrupted, in one atomic file; the log is ``log.csv``,
with a row for each epoch.
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from iconotext.errors import IconotextError, SettingError, TrainingError
from iconotext.system.files import open_atomic, write_text
from iconotext.system.strict_json import parse_toml
from iconotext.train.schedule import Plateau

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]


LOCK = ".lock"
"""Lock file in the model's folder, held by one process at a time."""

BUSY = "another process trains here; wait for it, or end it"


@contextmanager
def gone_if_refused(folder: Path, mark: str) -> Iterator[None]:
    """Remove a new folder if the block fails with an error of iconotext before the folder has the file ``mark``."""
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        yield
    except IconotextError as error:
        # A TrainingError may mean that another process works there.
        if new and not isinstance(error, TrainingError) and not (folder / mark).exists():
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another process put something there
                for parent in new[1:]:
                    parent.rmdir()
        raise


def same_recipe(folder: Path, old: str, new: str) -> None:
    """Check that two resolved recipes are equal."""
    if old == new:
        return
    old_values, new_values = (flat(parse_toml(text)) for text in (old, new))
    keys = [key for key in {**old_values, **new_values} if old_values.get(key) != new_values.get(key)]
    raise SettingError(
        f"{folder}: holds a model of another recipe, which differs in {', '.join(keys)}; name another folder, "
        "or remove this one"
    )


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested tables to values by dotted keys."""
    values_by_key: dict[str, Any] = {}
    for key, value in values.items():
        values_by_key |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return values_by_key


CHECKPOINT = "checkpoint.pt"


@dataclass(slots=True)
class Progress:
    """The progress of training. Random numbers follow from seed, epoch and step, so they need no state.

    Attributes:
        epoch: Number of finished epochs.
        step: Number of finished steps of the current epoch.
        total: Sum of the losses in these steps.
        count: Number of these losses.
        seconds: Time spent in the current epoch.
        no_gradient: Number of these steps without a gradient.
        collapsed: Epoch after which the run was restarted because it had learned nothing; None if it was not.
        before: Validation figures of the model that training starts from, as in ``metrics.json``; None if its weights
            are random.
        history: A row of the log for each finished epoch.
        plateau: State of the learning rate's schedule.
        best: Validation loss or median rank, epoch and weights of the best epochs, best first; see
            ``training.average``.
    """

    epoch: int = 0
    step: int = 0
    total: float = 0.0
    count: int = 0
    seconds: float = 0.0
    no_gradient: int = 0
    collapsed: int | None = None
    before: dict[str, float | None] | None = None
    history: list[dict[str, float | None]] = field(default_factory=list)
    plateau: Plateau = field(default_factory=Plateau)
    best: list[tuple[float, int, Weights]] = field(default_factory=list)

    def end_epoch(self, row: dict[str, float | None]) -> None:
        """Count the current epoch as finished."""
        self.history.append(row)
        self.epoch, self.step, self.no_gradient = self.epoch + 1, 0, 0
        self.total, self.count, self.seconds = 0.0, 0, 0.0

    def keep_if_best(self, value: float, weights: Mapping[str, Tensor], *, count: int) -> None:
        """Store the weights of the latest epoch if it is among the ``count`` best; ties go to the earlier epoch."""
        ranked = [*((other, epoch) for other, epoch, _ in self.best), (value, self.epoch)]
        if (value, self.epoch) in sorted(ranked)[:count]:
            # Copies, since the next step changes the weights in place.
            copied = {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights.items()}
            self.best = sorted([*self.best, (value, self.epoch, copied)], key=lambda entry: entry[:2])[:count]

    def best_weights(self) -> Weights:
        """Return the mean of the stored weights."""
        import torch

        return {
            name: torch.stack([weights[name].double() for _, _, weights in self.best]).mean(0).to(tensor.dtype)
            for name, tensor in self.best[0][2].items()
        }


class Checkpoint(NamedTuple):
    """The contents of a checkpoint."""

    recipe: str
    corpus: str
    progress: Progress
    model: Weights
    optimizer: dict[str, Any]


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint atomically."""
    import torch

    progress = checkpoint.progress
    # Plain values: a checkpoint is read with ``weights_only``, which refuses classes of ours.
    state = checkpoint._asdict() | {
        "progress": {name: getattr(progress, name) for name in Progress.__slots__ if name != "plateau"},
        "plateau": asdict(progress.plateau),
    }
    with open_atomic(folder / CHECKPOINT, force=True) as file:
        torch.save(state, file)


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Read the checkpoint of a folder; None if it has none."""
    import torch

    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        progress = Progress(**state["progress"], plateau=Plateau(**state["plateau"]))
        progress.best = [(loss, epoch, weights) for loss, epoch, weights in progress.best]
        return Checkpoint(state["recipe"], state["corpus"], progress, state["model"], state["optimizer"])
    except Exception as error:  # a damaged pickle may raise anything
        raise TrainingError(
            f"{path}: damaged; remove it to begin this model again ({' '.join(str(error).split()):.200})"
        ) from error


LOG = "log.csv"


class Column(NamedTuple):
    """A column of the log."""

    name: str
    summary: str


COLUMNS = (
    Column("epoch", "Number of the epoch, from 1."),
    Column("step", "Number of steps so far."),
    Column("learning_rate", "Learning rate of the last step."),
    Column("train_loss", "Mean loss of the steps."),
    Column("validation_loss", "Mean loss of the validation documents."),
    Column("no_information", "Validation loss if everything is equally similar; empty if no documents are compared."),
    Column("validation_auc", "AUC of the validation documents' links; empty without gold links."),
    Column("validation_median_rank", "Median rank of the right image; empty unless it chooses the model."),
    Column("positive_cosines", "Share of the validation documents' cosines above 0."),
    Column("no_gradient", "Share of steps without a gradient."),
    Column("seconds", "Duration of the epoch, with validation."),
)

Row = dict[str, float | None]


def write_log(folder: Path, history: Sequence[Row]) -> None:
    """Write the log of all epochs so far."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    for row in history:
        values = [row[column.name] for column in COLUMNS]
        writer.writerow(["" if value is None else f"{value:.10g}" for value in values])
    write_text(folder / LOG, table.getvalue(), force=True)
