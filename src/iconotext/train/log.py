"""The log of a training run, ``log.csv``, with a row for each epoch: ``write_log``."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.system.files import write_text

if TYPE_CHECKING:
    pass


LOG = "log.csv"

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
    """Write the log of all epochs so far.

    ``validation_auc`` is empty if no gold links are known, ``validation_median_rank`` if it does not choose the model.
    ``no_information`` is the validation loss of a model to which everything is equally similar, empty if no documents
    are compared; ``positive`` the share of the validation documents' cosines above 0; ``still`` the share of steps
    without a gradient. The ``gold`` columns are those of ``iconotext.train.validate``, empty if no gold links are
    known.
    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in history:
        writer.writerow(["" if row[column] is None else f"{row[column]:.10g}" for column in COLUMNS])
    write_text(folder / LOG, table.getvalue(), force=True)
