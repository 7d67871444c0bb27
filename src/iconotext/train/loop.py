"""The loop of a training run, in each of its processes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from iconotext.embed.folder import CARD, METRICS, save_model
from iconotext.errors import TrainingError
from iconotext.recipe import Recipe, dump_recipe
from iconotext.train.adam import Adam
from iconotext.train.batches import batches_ahead, epoch_batches
from iconotext.train.card import model_card
from iconotext.train.checkpoint import CHECKPOINT, Checkpoint, Progress, load_checkpoint, save_checkpoint
from iconotext.train.log import TensorBoardLog, write_log
from iconotext.train.pair_scores import pair_figures, split_pairs
from iconotext.train.parallel import Processes, Watcher
from iconotext.train.prepared import Prepared, open_prepared
from iconotext.train.same import same_recipe
from iconotext.train.schedule import learning_rate
from iconotext.train.start import check_run, new_model, prepared_vocabulary, told_relations
from iconotext.train.step import make_optimizer, training_step
from iconotext.train.validate import evaluate_split, validate, validation_median_rank
from iconotext.write import reporting_full_disk, write_text

if TYPE_CHECKING:
    from iconotext.embed.build import Inputs
    from iconotext.embed.model import JointModel
    from iconotext.features.vocabulary import Vocabulary

SAVE_EVERY = 600.0
"""Seconds of an epoch after which its steps so far are saved; a run that is killed loses no more."""


CHOSEN_BY = {"loss": "validation_loss", "median-rank": "validation_median_rank"}
"""The column of the log that is lowest in the best epochs."""


@dataclass(eq=False)
class Training:
    """A run as one of its processes sees it.

    Attributes:
        recipe: The resolved recipe.
        prepared: The corpus.
        folder: Of the model.
        processes: Where it runs.
        watcher: Told how it goes on; only in the first process.
        model: The model itself.
        encode: The model as ``processes`` wrapped it.
        optimizer: Of the model.
        inputs: Sizes of what the encoders read.
        vocabulary: Of encoders that read words.
        progress: How far it is.
    """

    recipe: Recipe
    prepared: Prepared
    folder: Path
    processes: Processes
    watcher: Watcher | None
    model: JointModel
    encode: Callable[..., Any]
    optimizer: Adam
    inputs: Inputs
    vocabulary: Vocabulary | None
    progress: Progress

    @property
    def main(self) -> bool:
        """Whether this is the process that writes."""
        return self.processes.rank == 0


def train_in_process(processes: Processes, watcher: Watcher | None, recipe: Recipe, arrays: Path, folder: Path) -> None:
    """Train to the end, from the checkpoint in the folder if there is one, and write the model.

    Args:
        processes: Where it runs.
        watcher: Told how it goes on.
        recipe: The resolved recipe.
        arrays: Folder of the prepared corpus.
        folder: Of the model.
    """
    training = _begin(processes, watcher, recipe, open_prepared(arrays), folder)
    try:
        with reporting_full_disk(folder):
            _epochs(training)
            if training.main:
                _finish(training)
    except (TrainingError, MemoryError, RuntimeError) as error:
        if isinstance(error, TrainingError) or out_of_memory(error):
            raise _explained(error, training) from error
        raise


def _begin(processes: Processes, watcher: Watcher | None, recipe: Recipe, prepared: Prepared, folder: Path) -> Training:
    vocabulary = prepared_vocabulary(prepared)
    check_run(recipe, prepared)
    checkpoint = load_checkpoint(folder)
    model, inputs = new_model(recipe, prepared, vocabulary, first=checkpoint is None)
    optimizer = make_optimizer(model, recipe)
    encode = processes.setup(model)
    progress = Progress()
    if checkpoint is not None:
        same_recipe(folder, checkpoint.recipe, dump_recipe(recipe))
        if checkpoint.corpus != prepared.meta["key"]:
            raise TrainingError(
                f"{folder}: the corpus, or the features beside it, have changed since this training was interrupted; "
                "remove the folder to begin again, or name another one"
            )
        progress = checkpoint.progress
        model.load_state_dict(checkpoint.model)
        optimizer.load_state(checkpoint.optimizer)
    return Training(
        recipe,
        prepared,
        folder,
        processes,
        watcher,
        model,
        encode,
        optimizer,
        inputs,
        vocabulary,
        progress,
    )


def _epochs(training: Training) -> None:
    recipe, progress, tensorboard = training.recipe, training.progress, None
    try:
        while progress.epoch < recipe.training.epochs:
            row = _epoch(training)
            progress.plateau.see(_number(row["validation_loss"]), recipe.training, steps=int(_number(row["step"])))
            progress.end_epoch(row)
            progress.keep(
                _number(row[CHOSEN_BY[recipe.training.choose]]),
                training.model.state_dict(),
                count=recipe.training.average,
            )
            if training.main:
                _save_checkpoint(training)
                write_log(training.folder, progress.history)
                tensorboard = tensorboard or TensorBoardLog(training.folder)
                tensorboard.write(progress.history)
                if training.watcher:
                    training.watcher.epoch(row)
        if training.main and tensorboard is None:  # killed between the last checkpoint and its log
            tensorboard = TensorBoardLog(training.folder)
            tensorboard.write(progress.history)
    finally:
        if tensorboard:
            tensorboard.close()


def _epoch(training: Training) -> dict[str, float | None]:
    """One pass over the training documents, and validation: the row of the log."""
    recipe, prepared, progress, processes = training.recipe, training.prepared, training.progress, training.processes
    epoch = progress.epoch
    planned = epoch_batches(prepared, recipe, "train", epoch, rank=processes.rank, ranks=processes.ranks)
    steps = len(planned)
    rate = partial(learning_rate, recipe.training, epoch, steps=steps, plateau=progress.plateau)
    training.model.train()
    batches = batches_ahead(
        prepared, recipe, planned, training=True, epoch=epoch, rank=processes.rank, start=progress.step
    )
    before = time.perf_counter() - progress.seconds  # when it began, had it never stopped
    saved = time.perf_counter()
    for step, batch in enumerate(batches, progress.step):
        training.optimizer.rate = rate(step)
        losses = training_step(processes, training.encode, training.optimizer, batch, recipe, epoch=epoch, step=step)
        loss = float(losses.sum())
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of epoch {epoch + 1}, step {step + 1} is {loss}")
        progress.step, progress.total, progress.count = step + 1, progress.total + loss, progress.count + len(losses)
        if training.watcher:
            training.watcher.step(epoch + 1, step + 1, steps, loss / len(losses))
        if training.main and time.perf_counter() - saved >= SAVE_EVERY:
            progress.seconds = time.perf_counter() - before
            _save_checkpoint(training)
            saved = time.perf_counter()
    training.model.eval()
    loss, auc = validate(training.model, prepared, recipe, processes.device)
    loss = processes.agree(loss)  # the last bit may differ between GPUs, and what follows from it would
    rank = None
    if recipe.training.choose == "median-rank":
        rank = processes.agree(validation_median_rank(training.model, prepared, recipe, processes.device))
    if not math.isfinite(loss):
        raise TrainingError(f"the validation loss of epoch {epoch + 1} is {loss}")
    return {
        "epoch": epoch + 1,
        "step": steps * (epoch + 1),
        "learning_rate": rate(steps - 1),
        "train_loss": progress.total / progress.count,
        "validation_loss": loss,
        "validation_auc": auc,
        "validation_median_rank": rank,
        "seconds": time.perf_counter() - before,
    }


def _number(value: float | None) -> float:
    assert value is not None
    return value


def _save_checkpoint(training: Training) -> None:
    save_checkpoint(
        training.folder,
        Checkpoint(
            dump_recipe(training.recipe),
            training.prepared.meta["key"],
            training.progress,
            training.model.state_dict(),
            training.optimizer.state(),
        ),
    )


def _finish(training: Training) -> None:
    """Write the best model and its figures; the checkpoint is not needed any more."""
    recipe, progress, folder = training.recipe, training.progress, training.folder
    write_log(folder, progress.history)
    _save_best(training)
    training.model.load_state_dict(progress.best_weights())
    training.model.eval()
    model, prepared, device = training.model, training.prepared, training.processes.device
    epoch = progress.kept[0][1]
    best = progress.history[epoch - 1]
    metrics: dict[str, Any] = {
        "best_epoch": epoch,
        "validation_loss": best["validation_loss"],
        "epochs": progress.epoch,
    }
    if best["validation_median_rank"] is not None:
        metrics["validation_median_rank"] = best["validation_median_rank"]
    if recipe.training.average > 1:
        metrics["averaged_epochs"] = sorted(epoch for _, epoch, _ in progress.kept)
        metrics["validation_loss"] = validate(model, prepared, recipe, device)[0]
    relations = told_relations(recipe, prepared)
    if relations:
        metrics["relations"] = relations
    for split in ("validation", "test"):
        if prepared.all_single(split):
            if len(prepared.documents(split)):
                pairs = split_pairs(model, prepared, recipe, split, device)
                metrics[split] = pair_figures(model, pairs, relations)
            continue
        evaluation = evaluate_split(model, prepared, recipe, split, device)
        if evaluation is not None:
            metrics[split] = evaluation.as_dict(model=recipe.name, corpus="", split=split)
    write_text(folder / CARD, model_card(recipe, training.prepared.meta, metrics), force=True)
    write_text(folder / METRICS, json.dumps(metrics, indent=1), force=True)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _save_best(training: Training) -> None:
    save_model(
        training.folder,
        training.recipe,
        training.inputs,
        training.progress.best_weights(),
        vocabulary=training.vocabulary,
        backbones=training.prepared.meta["backbones"],
        concepts=training.prepared.meta["concepts"] if training.recipe.reads_concepts else (),
        relations=told_relations(training.recipe, training.prepared),
    )


def out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out; PyTorch says so on a CPU in words alone."""
    said = str(error).lower()
    return (
        isinstance(error, (MemoryError, torch.OutOfMemoryError))
        or "out of memory" in said
        or "can't allocate memory" in said
        or "not enough memory" in said
    )


def _explained(error: Exception, training: Training) -> TrainingError:
    """The error with what was kept and what may help."""
    progress = training.progress
    if progress.kept:
        _save_best(training)
        kept = f"the best model so far (epoch {progress.kept[0][1]}) is in {training.folder}"
    else:
        kept = "no epoch was finished, so there is no model"
    if isinstance(error, TrainingError):
        helps = "In another folder, a lower training.learning_rate, training.clip or training.warmup may help"
        return TrainingError(f"{error}; {kept}. {helps}")
    where = f"epoch {progress.epoch + 1}" if progress.epoch < training.recipe.training.epochs else "the evaluation"
    return TrainingError(
        f"memory ran out in {where}; {kept}. In another folder, a smaller training.batch, training.max_sentences, "
        "training.max_images or training.max_regions may help; in this one the same command goes on from the last "
        "checkpoint"
    )
