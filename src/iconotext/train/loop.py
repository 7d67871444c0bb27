"""The training loop, run in each process."""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path

import torch

from iconotext.errors import TrainingError
from iconotext.recipe import Recipe, dump_recipe
from iconotext.train.checkpoint import Progress, load_checkpoint
from iconotext.train.checks import check_run, check_warmup
from iconotext.train.collapse import has_ended, informed, wants_remedy
from iconotext.train.finish import save_best, write_model
from iconotext.train.folder import same_recipe
from iconotext.train.log import Row, write_log
from iconotext.train.pair_scores import validation_median_rank
from iconotext.train.parallel import Processes, Watcher
from iconotext.train.prepared import Prepared, open_prepared
from iconotext.train.sampling import NOTHING, sampling
from iconotext.train.schedule import learning_rate
from iconotext.train.step import has_gradient, make_optimizer, training_step
from iconotext.train.training import Training, new_model
from iconotext.train.validate import validate
from iconotext.train.windows import Windows
from iconotext.write import reporting_full_disk

SAVE_EVERY = 600.0
"""Seconds between two checkpoints within an epoch; a killed run loses no more than this."""


def train_in_process(processes: Processes, watcher: Watcher | None, recipe: Recipe, arrays: Path, folder: Path) -> None:
    """Train on a prepared corpus until the end, from the checkpoint in the folder if any, and write the model."""
    training = _begin(processes, watcher, recipe, open_prepared(arrays), folder)
    try:
        with reporting_full_disk(folder):
            _epochs(training)
            if training.main:
                write_model(training)
    except (TrainingError, MemoryError, RuntimeError) as error:
        if isinstance(error, TrainingError) or out_of_memory(error):
            raise _explained(error, training) from error
        raise


def _begin(processes: Processes, watcher: Watcher | None, recipe: Recipe, prepared: Prepared, folder: Path) -> Training:
    check_run(recipe, prepared)
    check_warmup(recipe, sum(window.steps for window in Windows(prepared, recipe).plan(0)))
    checkpoint = load_checkpoint(folder)
    start = new_model(recipe, prepared, first=checkpoint is None)
    optimizer = make_optimizer(start.model, recipe)
    encode = processes.setup_module(start.model)
    progress = Progress()
    if checkpoint is not None:
        same_recipe(folder, checkpoint.recipe, dump_recipe(recipe))
        if checkpoint.corpus != prepared.meta["key"]:
            raise TrainingError(
                f"{folder}: the corpus, or the features beside it, have changed since this training was interrupted; "
                "remove the folder to begin again, or name another one"
            )
        progress = checkpoint.progress
        start.model.load_state_dict(checkpoint.model)
        optimizer.load_state_dict(dict(checkpoint.optimizer))
    return Training(recipe, prepared, folder, processes, watcher, start, encode, optimizer, progress)


def _epochs(training: Training) -> None:
    settings = training.recipe.training
    while True:
        if wants_remedy(training.progress, training.recipe):
            training.begin_again()
        progress = training.progress
        if training.recipe.starts_from is not None and progress.before is None:
            _look_before(training)
        if has_ended(progress, settings.epochs):
            break
        row, loss, chosen_by = _epoch(training)
        progress.plateau.see(loss, settings, steps=int(row["step"] or 0), informed=informed(row))
        progress.end_epoch(row)
        progress.keep(chosen_by, training.model.state_dict(), count=settings.average)
        if training.main:
            training.save_checkpoint()
            write_log(training.folder, progress.history)
            if training.watcher:
                training.watcher.epoch(row)


def _look_before(training: Training) -> None:
    """Validate the model that training starts from; it is kept if no epoch is better."""
    progress = training.progress
    progress.before, chosen_by = _validated(training)
    progress.keep(chosen_by, training.model.state_dict(), count=training.recipe.training.average)


def _validated(training: Training) -> tuple[Row, float]:
    """Validation figures of the current model, and the number by which the best epochs are chosen (lowest is best)."""
    recipe, prepared, processes = training.recipe, training.prepared, training.processes
    training.model.eval()
    found = validate(training.model, prepared, recipe, processes.device)
    loss = processes.broadcast(found.loss)  # may differ in the last bit between GPUs, and decides what follows
    rank = None
    if recipe.training.choose == "median-rank":
        rank = processes.broadcast(validation_median_rank(training.model, prepared, recipe, processes.device))
    row = {
        "validation_loss": loss,
        "no_information": found.no_information,
        "validation_auc": found.auc,
        "validation_median_rank": rank,
        "positive": found.positive,
    }
    return row, loss if rank is None else rank


def _epoch(training: Training) -> tuple[Row, float, float]:
    """One pass over the training documents, and validation.

    Returns:
        The row of the log, the validation loss, and the number by which the best epochs are chosen (lowest is best).
    """
    recipe, prepared, progress, processes = training.recipe, training.prepared, training.progress, training.processes
    epoch, device = progress.epoch, processes.device
    before = time.perf_counter() - progress.seconds  # its beginning, without interruptions
    steps, rate = _steps(training, before)
    validated, chosen_by = _validated(training)
    loss = validated["validation_loss"]
    if loss is None or not math.isfinite(loss):
        raise TrainingError(f"the validation loss of epoch {epoch + 1} is {loss}")
    row = {
        "epoch": epoch + 1,
        "step": steps * (epoch + 1),
        "learning_rate": rate,
        "train_loss": progress.total / progress.count,
        **validated,
        "still": processes.broadcast(progress.still / progress.step),
        **(sampling(training.model, prepared, recipe, device) if training.main else NOTHING)._asdict(),
        "seconds": time.perf_counter() - before,
    }
    return row, loss, chosen_by


def _steps(training: Training, before: float) -> tuple[int, float]:
    """Do the remaining steps of an epoch; returns its total number of steps, and the last learning rate."""
    recipe, progress, processes = training.trained_by, training.progress, training.processes
    epoch = progress.epoch
    windows = Windows(training.prepared, recipe, ranks=processes.world_size)
    steps = sum(window.steps for window in windows.plan(epoch))
    rate = partial(learning_rate, recipe.training, epoch, steps=steps, plateau=progress.plateau)
    training.model.train()
    saved = time.perf_counter()
    batches = windows.batches(epoch, rank=processes.global_rank, start=progress.step)
    for step, batch in enumerate(batches, progress.step):
        losses = training_step(
            processes, training.encode, training.optimizer, batch, recipe, epoch=epoch, step=step, rate=rate(step)
        )
        loss = float(losses.sum())
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of epoch {epoch + 1}, step {step + 1} is {loss}")
        progress.step, progress.total, progress.count = step + 1, progress.total + loss, progress.count + len(losses)
        progress.still += not has_gradient(training.model)
        if training.watcher:
            training.watcher.step(epoch + 1, step + 1, steps, loss / len(losses))
        if training.main and time.perf_counter() - saved >= SAVE_EVERY:
            progress.seconds = time.perf_counter() - before
            training.save_checkpoint()
            saved = time.perf_counter()
    return steps, rate(steps - 1)


def out_of_memory(error: Exception) -> bool:
    """Whether an error means that memory ran out; on a CPU PyTorch shows it only in the message."""
    said = str(error).lower()
    return (
        isinstance(error, (MemoryError, torch.OutOfMemoryError))
        or "out of memory" in said
        or "can't allocate memory" in said
        or "not enough memory" in said
    )


def _explained(error: Exception, training: Training) -> TrainingError:
    """The error as a ``TrainingError``, with what was kept and what may help."""
    progress = training.progress
    if progress.kept:
        save_best(training)
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
