"""The log of a training run, ``log.csv``: its columns, and ``write_log``, which writes a row for each epoch."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from iconotext.system.files import write_text

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
