"""The log of a training run: ``log.csv``, and where TensorBoard is installed the same for it."""

from __future__ import annotations

import csv
import io
import shutil
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.write import write_text

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

LOG = "log.csv"
TENSORBOARD = "tensorboard"
COLUMNS = (
    "epoch",
    "step",
    "learning_rate",
    "train_loss",
    "validation_loss",
    "no_information",
    "validation_auc",
    "validation_median_rank",
    "positive",
    "still",
    "likely_gold",
    "unlikely_gold",
    "gold",
    "seconds",
)

Row = dict[str, float | None]


def write_log(folder: Path, history: Sequence[Row]) -> None:
    """Write all epochs so far.

    ``validation_auc`` is empty where no gold links are known, ``validation_median_rank`` where it does not choose.
    ``no_information`` is the validation loss of a model to which everything is alike, empty where nothing is compared;
    ``positive`` the share of the validation documents' cosines above 0, ``still`` that of the steps without gradient.
    The columns of ``gold`` are those of ``iconotext.train.sampling``, empty where no gold links are known.
    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in history:
        writer.writerow(["" if row[column] is None else f"{row[column]:.10g}" for column in COLUMNS])
    write_text(folder / LOG, table.getvalue(), force=True)


class TensorBoardLog:
    """The same rows for ``tensorboard --logdir FOLDER``; nothing where TensorBoard is not installed.

    Rows are written when there are any; those of an interrupted run are then written anew.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / TENSORBOARD
        self._writer: SummaryWriter | None = None
        self._written = 0

    def write(self, history: Sequence[Row]) -> None:
        """Add the epochs that are not there yet."""
        if not self._written or len(history) < self._written:  # the run has begun again
            self.close()
            self._writer, self._written = _summary_writer(self._folder), 0
        if self._writer is None:
            return
        for row in history[self._written :]:
            for column in COLUMNS[2:]:
                value = row[column]
                if value is not None:
                    self._writer.add_scalar(column, value, int(row["epoch"] or 0))
        self._written = len(history)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()


def _summary_writer(folder: Path) -> SummaryWriter | None:
    if find_spec("tensorboard") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what TensorBoard itself imports
        from torch.utils.tensorboard import SummaryWriter
    shutil.rmtree(folder, ignore_errors=True)
    return SummaryWriter(str(folder))
