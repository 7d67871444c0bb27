"""The log of a training run, ``log.csv``: its columns, and ``write_log``, which writes a row for each epoch."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from iconotext.system.files import write_text

LOG = "log.csv"

COLUMNS = {
    "epoch": "Number of the epoch, from 1.",
    "step": "Number of steps so far.",
    "learning_rate": "Learning rate of the last step.",
    "train_loss": "Mean loss of the steps.",
    "validation_loss": "Mean loss of the validation documents.",
    "no_information": "Validation loss if everything is equally similar; empty if no documents are compared.",
    "validation_auc": "AUC of the validation documents' links; empty without gold links.",
    "validation_median_rank": "Median rank of the right image; empty unless it chooses the model.",
    "positive_cosines": "Share of the validation documents' cosines above 0.",
    "no_gradient": "Share of steps without a gradient.",
    "likely_gold": "Share of gold links among the links that are chosen as likely; empty without gold links.",
    "unlikely_gold": "The same share among the links that are chosen as unlikely.",
    "gold": "The same share among all pairs, which is chance.",
    "seconds": "Duration of the epoch, with validation.",
}
"""The columns and their meanings."""

Row = dict[str, float | None]


def write_log(folder: Path, history: Sequence[Row]) -> None:
    """Write the log of all epochs so far."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in history:
        writer.writerow(["" if row[column] is None else f"{row[column]:.10g}" for column in COLUMNS])
    write_text(folder / LOG, table.getvalue(), force=True)
