"""The training loop, run in each process: ``train_in_process``.

``Training`` is the state of a run, ``new_model`` makes the model before its first step, and ``training_step`` does one
step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.optim import AdamW

from iconotext.encoders.stored_model import VOCABULARY, init_folder, load_model
from iconotext.errors import SettingError, TrainingError
from iconotext.features.word_vectors import WORD2VEC
from iconotext.recipe import Recipe, dump_recipe
from iconotext.system.files import reporting_full_disk
from iconotext.train.batches import Windows
from iconotext.train.checkpoint import Checkpoint, Progress, load_checkpoint, same_recipe, save_checkpoint
from iconotext.train.finish import save_best, write_model
from iconotext.train.log import Row, write_log
from iconotext.train.loss import batch_loss
from iconotext.train.parallel import Processes, Watcher
from iconotext.train.prepared import Prepared, TrainingSentences, learned_relations, open_prepared
from iconotext.train.schedule import learning_rate
from iconotext.train.start import check_concepts, check_run, check_warmup, take_over
from iconotext.train.summary import has_ended, informed, wants_remedy
from iconotext.train.validate import NOTHING, sampling, validate, validation_median_rank

if TYPE_CHECKING:
    from iconotext.encoders.backbone_encoder import Inputs
    from iconotext.encoders.joint_model import JointModel
    from iconotext.features.word_vectors import Vocabulary
    from iconotext.train.batches import Batch
    from iconotext.types import FloatMatrix


def make_optimizer(model: JointModel, recipe: Recipe) -> AdamW:
    """Make AdamW, which is Adam without weight decay; vectors, biases and the scale never decay."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [each for each in trained if each.ndim > 1], "weight_decay": recipe.training.weight_decay},
        {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=recipe.training.learning_rate, fused=True)


def training_step(
    processes: Processes,
    encode: Callable[..., Any],
    optimizer: AdamW,
    batch: Batch,
    recipe: Recipe,
    *,
    epoch: int,
    step: int,
    rate: float,
) -> Tensor:
    """Do one step, and return the (P,) losses before it; randomness depends on seed, epoch, step and process alone.

    Args:
        processes: The process, with its access to the others.
        encode: The model, wrapped by ``setup_module``.
        optimizer: The optimizer of its weights.
        batch: The batch.
        recipe: The recipe.
        epoch: Number of the epoch, from 0.
        step: Number of the step within the epoch, from 0.
        rate: Learning rate of the step.
    """
    seed = int(
        np.random.SeedSequence([recipe.seed, epoch, step, processes.global_rank]).generate_state(1, np.uint64)[0]
    )
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    losses, _, _ = batch_loss(encode, batch.to(processes.device), recipe, epoch=epoch, generator=generator)
    optimizer.zero_grad()
    processes.backward(losses.mean())
    if recipe.training.clip is not None:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        torch.nn.utils.clip_grad_norm_(parameters, recipe.training.clip)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return losses.detach()


def has_gradient(model: JointModel) -> bool:
    """Tell whether any weight had a gradient other than 0 in the last step."""
    return any(each.grad is not None and bool(each.grad.any()) for each in model.parameters())


class Start(NamedTuple):
    """The model before its first step, with the sizes of its inputs and its words."""

    model: JointModel
    inputs: Inputs
    vocabulary: Vocabulary | None


def new_model(recipe: Recipe, prepared: Prepared, *, first: bool = True) -> Start:
    """Make the model before its first step; the same for the same seed.

    Args:
        recipe: The recipe.
        prepared: The prepared corpus.
        first: Whether the weights of this model are used; a continued run takes them from the checkpoint.

    Raises:
        FeatureError: The model to start from was trained on other features, or the word vectors cannot be read.
        SettingError: The file of word vectors has none of the words.
    """
    import torch

    from iconotext.encoders.backbone_encoder import Inputs
    from iconotext.encoders.joint_model import JointModel
    from iconotext.features.word_vectors import load_vocabulary

    vocabulary = load_vocabulary(prepared.folder / VOCABULARY) if recipe.words else None
    names: list[str] = prepared.meta["concepts"] if recipe.reads_concepts else []
    check_concepts(recipe, names)
    words = [vocabulary.ids(name, max_tokens=len(name)) for name in names] if vocabulary else []
    inputs = Inputs(
        words=len(vocabulary) if vocabulary else 0,
        text_features=prepared.meta["text_features"],
        image_features=prepared.meta["image_features"],
        concepts=len(names),
        concept_words=sum(map(len, words)),
        relations=len(learned_relations(recipe, prepared)),
    )
    torch.manual_seed(recipe.seed)
    model = JointModel(recipe, inputs)
    if names:
        model.set_concepts(words if vocabulary else torch.from_numpy(_encoded(recipe, names)))
    if first and recipe.init is not None:
        take_over(model, load_model(init_folder(recipe.init)), prepared, recipe)
    elif first and recipe.words is not None and recipe.words.word_vectors is not None and vocabulary is not None:
        vectors = _word_vectors(recipe.words.word_vectors, recipe.words.word_dim, recipe.seed, prepared, vocabulary)
        model.set_word_vectors(torch.from_numpy(vectors))
    return Start(model, inputs, vocabulary)


def _word_vectors(source: str, dim: int, seed: int, prepared: Prepared, vocabulary: Vocabulary) -> FloatMatrix:
    """Return (V, dim) initial word vectors; zeros for a word without one."""
    if source == WORD2VEC and prepared.words is not None:
        from iconotext.features.word_vectors import train_word2vec

        return train_word2vec(TrainingSentences(prepared, prepared.words), len(vocabulary), dim=dim, seed=seed)
    from iconotext.features.word_vectors import load_word_vectors

    vectors, found = load_word_vectors(source, vocabulary.words, dim=dim)
    if not found:
        raise SettingError(f"{source}: has no vector for any of the {len(vocabulary)} words")
    return vectors


def _encoded(recipe: Recipe, names: Sequence[str]) -> FloatMatrix:
    """Encode the names of concepts with the text backbone: (C, features)."""
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    return cached_text(load_text_backbone(recipe.features.text), FeatureCache()).encode(names)


@dataclass(eq=False)
class Training:
    """The state of a run in one of its processes.

    Attributes:
        recipe: The recipe.
        prepared: The prepared corpus.
        folder: Folder of the model.
        processes: The process, with its access to the others.
        watcher: Shows progress; None except in the first process.
        start: The unwrapped model, with the sizes of its inputs and its words.
        encode: The model, wrapped by ``processes``.
        optimizer: The optimizer of the weights.
        progress: The progress of training.
    """

    recipe: Recipe
    prepared: Prepared
    folder: Path
    processes: Processes
    watcher: Watcher | None
    start: Start
    encode: Callable[..., Any]
    optimizer: AdamW
    progress: Progress

    @property
    def model(self) -> JointModel:
        """The unwrapped model."""
        return self.start.model

    @property
    def trained_by(self) -> Recipe:
        """The recipe; if the run learned nothing and was restarted, with the remedy for this."""
        if self.progress.collapsed is None:
            return self.recipe
        objective = self.recipe.objective
        remedy = objective.model_copy(update={"mean_epochs": objective.remedy_epochs})
        return self.recipe.model_copy(update={"objective": remedy})

    def begin_again(self) -> None:
        """Restart with new weights; the only state that remains is the epoch after which nothing had been learned."""
        self.model.load_state_dict(new_model(self.recipe, self.prepared).model.state_dict())
        self.optimizer = make_optimizer(self.model, self.recipe)
        self.progress = Progress(collapsed=self.progress.epoch)

    @property
    def main(self) -> bool:
        """Whether this process writes the files."""
        return self.processes.global_rank == 0

    def save_checkpoint(self) -> None:
        """Write a checkpoint, with the whole state of the run."""
        save_checkpoint(
            self.folder,
            Checkpoint(
                dump_recipe(self.recipe),
                self.prepared.meta["key"],
                self.progress,
                self.model.state_dict(),
                self.optimizer.state_dict(),
            ),
        )


SAVE_EVERY = 600.0
"""Seconds between two checkpoints within an epoch; a killed run loses no more than this."""


def train_in_process(processes: Processes, watcher: Watcher | None, recipe: Recipe, arrays: Path, folder: Path) -> None:
    """Train on a prepared corpus until the end, and write the model; a checkpoint in the folder is continued."""
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
    """Validate the model that training starts from; it remains the best model if no epoch is better."""
    progress = training.progress
    progress.before, chosen_by = _validated(training)
    progress.keep(chosen_by, training.model.state_dict(), count=training.recipe.training.average)


def _validated(training: Training) -> tuple[Row, float]:
    """Return validation figures of the model, and the number by which the best epochs are chosen (lowest is best)."""
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
    """Do one pass over the training documents, and validate.

    Returns:
        The row of the log, the validation loss, and the number by which the best epochs are chosen (lowest is best).
    """
    recipe, prepared, progress, processes = training.recipe, training.prepared, training.progress, training.processes
    epoch, device = progress.epoch, processes.device
    before = time.perf_counter() - progress.seconds  # the start of the epoch, as if there had been no interruptions
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
    """Do the remaining steps of an epoch, and return its total number of steps and the last learning rate."""
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
    """Tell whether an error means that memory ran out; on a CPU PyTorch shows it only in the message."""
    said = str(error).lower()
    return (
        isinstance(error, (MemoryError, torch.OutOfMemoryError))
        or "out of memory" in said
        or "can't allocate memory" in said
        or "not enough memory" in said
    )


def _explained(error: Exception, training: Training) -> TrainingError:
    """Turn an error into a ``TrainingError`` that names the model that was saved, and settings that may help."""
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
