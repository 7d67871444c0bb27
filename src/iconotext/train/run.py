"""A training run from recipe and corpora to a model folder; killed at any moment, the same call goes on from there."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from iconotext.embed.folder import METRICS, RECIPE, is_model_folder
from iconotext.errors import SettingError
from iconotext.recipe import Recipe, dump_recipe
from iconotext.recipe.settings import REGION_FILES
from iconotext.train.changes import changed_links
from iconotext.train.checkpoint import CHECKPOINT
from iconotext.train.checks import check_start
from iconotext.train.collapse import raise_if_dead
from iconotext.train.folder import gone_if_refused, locked, same_recipe
from iconotext.train.init import with_init
from iconotext.train.parallel import Watcher, launch
from iconotext.train.prepare import Report, lock_of, prepare
from iconotext.train.prepare_shards import is_feature_folder, prepare_shards
from iconotext.train.prepared import Prepared
from iconotext.write import reporting_full_disk, write_text

CORPUS = "corpus"
"""Folder within the model's, where the prepared corpus lies while training runs."""

LOCK = ".lock"
"""File within the model's folder that one process at a time holds."""


def train(
    recipe: Recipe,
    corpora: Sequence[Path | str],
    folder: Path,
    *,
    prepared: Path | None = None,
    report: Report | None = None,
    watcher: Watcher | None = None,
) -> Path:
    """Train a model, or go on with one that was interrupted, or do nothing for one that is done; its folder.

    The folder then holds the model (see ``embed.folder``), ``log.csv`` and ``metrics.json``. A run
    that is stopped at any moment, and called again with the same recipe and corpora, ends with the same weights and
    figures as one that is not; it loses the steps since its last checkpoint, which is written after every epoch and
    every ten minutes.

    Args:
        corpora: Corpus files, or folders of feature shards, also of a store; more than one are trained on together.
        prepared: Where the prepared corpus lies or will lie, to share it among models; by default in the folder,
            and removed in the end.

    Raises:
        SettingError: There is a model of another recipe in the folder, or word vectors are missing.
        CorpusError, FeatureError: See ``prepare``.
        CollapseError: Training died before it had learned anything; model and figures are in the folder all the same.
        TrainingError: The loss is no number any more, or memory ran out: then the best model so far is in the folder.
            Or the corpus has changed since the run was interrupted, or another process trains in the folder.
        OutputError: The disk is full; the last checkpoint is whole, and the same call goes on from there.
    """
    recipe = with_init(recipe)
    text = dump_recipe(recipe)
    if not finished(folder):
        check_start(recipe)
    with reporting_full_disk(folder), gone_if_refused(folder, RECIPE), locked(folder / LOCK, wait=0, what="trains"):
        begun = is_model_folder(folder) or (folder / CHECKPOINT).is_file()
        if begun and (folder / RECIPE).is_file():
            same_recipe(folder, (folder / RECIPE).read_text(encoding="utf-8"), text)
        if not finished(folder):
            arrays = _prepared(recipe, corpora, prepared or folder / CORPUS, report).folder
            write_text(folder / RECIPE, text, force=True)
            from iconotext.train.loop import train_in_process

            launch(train_in_process, recipe.training, watcher, recipe, arrays, folder)
        _count_changes(recipe, corpora, folder)
        (folder / CHECKPOINT).unlink(missing_ok=True)  # left over where the end itself was interrupted
        shutil.rmtree(folder / CORPUS, ignore_errors=True)
        for lock in (lock_of(folder / CORPUS), folder / LOCK):
            with contextlib.suppress(OSError):  # Windows keeps what is open
                lock.unlink(missing_ok=True)
    raise_if_dead(folder, json.loads((folder / METRICS).read_text(encoding="utf-8")))
    return folder


def _prepared(recipe: Recipe, corpora: Sequence[Path | str], folder: Path, report: Report | None) -> Prepared:
    """The corpora ready for training, in whatever form they are."""
    sharded = [is_feature_folder(corpus) for corpus in corpora]
    if all(sharded):
        return prepare_shards(recipe, [str(corpus) for corpus in corpora], folder, report=report)
    if any(sharded):
        raise SettingError("corpora in files and folders of feature shards cannot be trained on together")
    return prepare(recipe, [Path(corpus) for corpus in corpora], folder, report=report)


def _count_changes(recipe: Recipe, corpora: Sequence[Path | str], folder: Path) -> None:
    """Write into the figures how many links are others than those of the model that training started from.

    A model that looks images up in a file, or is trained on documents of single pairs alone, has none to count;
    features have no texts that could be linked (null in the figures).
    """
    metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    looks_up = Path(recipe.features.image).suffix in (".npy", *REGION_FILES)
    start = recipe.starts_from
    if start is None or "before" not in metrics or "changed" in metrics or looks_up:
        return
    texts = not any(map(is_feature_folder, corpora))
    metrics["changed"] = changed_links(start, folder, [Path(e) for e in corpora])._asdict() if texts else None
    write_text(folder / METRICS, json.dumps(metrics, indent=1), force=True)


def finished(folder: Path) -> bool:
    """Whether the folder holds a model whose training has ended."""
    return is_model_folder(folder) and (folder / METRICS).is_file()


def interrupted(folder: Path) -> bool:
    """Whether the folder holds a training that can go on."""
    return (folder / CHECKPOINT).is_file() and not finished(folder)
