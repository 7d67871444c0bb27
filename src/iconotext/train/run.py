"""Trains a model from recipe and corpora; a killed run is continued by the same call."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.encoders.stored_model import METRICS, RECIPE, is_model_folder, read_metrics
from iconotext.errors import TrainingError
from iconotext.recipe import Recipe, dump_recipe
from iconotext.system.files import locked, reporting_full_disk, write_text
from iconotext.train.checkpoint import BUSY, CHECKPOINT, LOCK, gone_if_refused, same_recipe
from iconotext.train.collapse import raise_if_dead
from iconotext.train.prepare import Report, lock_of, no_report, prepare
from iconotext.train.start import check_corpora, check_start, with_init

if TYPE_CHECKING:
    from iconotext.train.loop import Watcher


CORPUS = "corpus"
"""Name of the prepared corpus's folder in the model's folder, during training."""


def train(
    recipe: Recipe,
    corpora: Sequence[Path],
    folder: Path,
    *,
    prepared: Path | None = None,
    report: Report = no_report,
    watcher: Watcher | None = None,
) -> Path:
    """Train a model, continue an interrupted training, or do nothing if it has ended; returns the folder.

    The folder then has the model (see ``encoders.stored_model``), ``log.csv`` and ``metrics.json``. A run that is
    interrupted, and called again with the same recipe and corpora, ends with the same weights and figures as an
    uninterrupted one. It repeats only the steps since the last checkpoint, written after every epoch and every ten
    minutes.

    Args:
        recipe: The recipe.
        corpora: Corpora, or folders of shards, also in a store; several are trained on together.
        folder: Folder of the model.
        prepared: Folder for the prepared corpus, to share it among models; by default in ``folder``, and removed at the
            end.
        report: Called while the corpora are prepared.
        watcher: Shows the progress of training.

    Raises:
        SettingError: The folder has a model of another recipe, or word vectors are missing.
        CorpusError, FeatureError: See ``prepare``.
        CollapseError: Training collapsed before anything was learned; model and figures are written all the same.
        TrainingError: The loss is not finite, or memory ran out: then the best model so far is written. Or the corpus
            has changed since the run was interrupted, or another process trains in the folder.
        OutputError: The disk is full; the last checkpoint is intact, and the same call continues from there.
    """
    recipe = with_init(recipe)
    text = dump_recipe(recipe)
    if not finished(folder):
        check_start(recipe)
        check_corpora(recipe, corpora)
    with reporting_full_disk(folder), gone_if_refused(folder, RECIPE), locked(folder / LOCK, BUSY, TrainingError):
        begun = is_model_folder(folder) or (folder / CHECKPOINT).is_file()
        if begun and (folder / RECIPE).is_file():
            same_recipe(folder, (folder / RECIPE).read_text(encoding="utf-8"), text)
        arrays = prepared or folder / CORPUS
        if not finished(folder):
            prepare(recipe, corpora, arrays, report=report)
            write_text(folder / RECIPE, text, force=True)
            from iconotext.train.loop import train_on

            train_on(recipe, arrays, folder, watcher)
        (folder / CHECKPOINT).unlink(missing_ok=True)  # left over if finishing was interrupted
        shutil.rmtree(folder / CORPUS, ignore_errors=True)
        for lock in (lock_of(folder / CORPUS), folder / LOCK):
            with contextlib.suppress(OSError):  # Windows cannot delete open files
                lock.unlink(missing_ok=True)
    raise_if_dead(folder, read_metrics(folder))
    return folder


def finished(folder: Path) -> bool:
    """Tell whether the folder has a model whose training has ended."""
    return is_model_folder(folder) and (folder / METRICS).is_file()


def interrupted(folder: Path) -> bool:
    """Tell whether the folder has a training that can be continued."""
    return (folder / CHECKPOINT).is_file() and not finished(folder)
