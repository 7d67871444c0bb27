"""The training loop. Epochs and steps count from 0."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.optim import AdamW

from iconotext.encoders.joint_model import JointModel
from iconotext.encoders.stored_model import CARD, METRICS, VOCABULARY, init_folder, load_model, save_model
from iconotext.errors import SettingError, TrainingError
from iconotext.features.word_vectors import WORD2VEC, load_vocabulary, load_word_vectors, train_word2vec
from iconotext.recipe import Recipe, dump_recipe
from iconotext.recipe.encoders import Inputs
from iconotext.system.files import reporting_full_disk, write_text
from iconotext.train.arrays import span_counts
from iconotext.train.batches import epoch_batches, planned_reads, read_ahead
from iconotext.train.checkpoint import (
    CHECKPOINT,
    Checkpoint,
    Progress,
    Row,
    load_checkpoint,
    same_recipe,
    save_checkpoint,
    write_log,
)
from iconotext.train.collapse import collapse_of, has_ended, informed, wants_remedy
from iconotext.train.loss import batch_loss
from iconotext.train.prepared import Prepared, TrainingSentences, learned_relations, open_prepared
from iconotext.train.schedule import learning_rate
from iconotext.train.start import check_concepts, check_run, check_warmup, take_over
from iconotext.train.summary import concept_shares, model_card
from iconotext.train.validate import (
    evaluate_split,
    pair_figures,
    split_pairs,
    validate,
    validation_median_rank,
)

if TYPE_CHECKING:
    from iconotext.encoders.joint_model import JointModel
    from iconotext.features.word_vectors import Vocabulary
    from iconotext.recipe import TrainingSettings
    from iconotext.train.batches import Batch
    from iconotext.types import FloatMatrix


def make_optimizer(model: JointModel, recipe: Recipe) -> AdamW:
    """Make AdamW, which is Adam without weight decay; vectors, biases and the scale never decay."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": recipe.training.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=recipe.training.learning_rate, fused=True)


def training_step(
    device: torch.device,
    encode: Callable[..., Any],
    optimizer: AdamW,
    batch: Batch,
    recipe: Recipe,
    *,
    epoch: int,
    step: int,
    rate: float,
) -> Tensor:
    """Do one step, and return the (P,) losses before it; randomness depends on seed, epoch and step alone."""
    # Drawn anew, never from the state of a generator, which a checkpoint would have to restore: so a run that was
    # killed ends with the same numbers, bit for bit.
    seed = int(np.random.SeedSequence([recipe.seed, epoch, step, 0]).generate_state(1, np.uint64)[0])
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    losses, _, _ = batch_loss(encode, batch.to(device), recipe, epoch=epoch, generator=generator)
    optimizer.zero_grad()
    losses.mean().backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    if recipe.training.clip is not None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(parameters, recipe.training.clip)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return losses.detach()


class Start(NamedTuple):
    """The model before its first step, with the sizes of its inputs and its words."""

    model: JointModel
    inputs: Inputs
    vocabulary: Vocabulary | None


def new_model(recipe: Recipe, prepared: Prepared, *, first: bool = True) -> Start:
    """Make the model before its first step; the same for the same seed.

    Unless it is the ``first`` one, its weights are not used, since a continued run takes them from the checkpoint.
    """
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
    torch.manual_seed(recipe.seed)  # here, so that weights do not depend on what was drawn before
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
        return train_word2vec(TrainingSentences(prepared, prepared.words), len(vocabulary), dim=dim, seed=seed)
    vectors, count = load_word_vectors(source, vocabulary.words, dim=dim)
    if not count:
        raise SettingError(f"{source}: has no vector for any of the {len(vocabulary)} words")
    return vectors


def _encoded(recipe: Recipe, names: Sequence[str]) -> FloatMatrix:
    """Encode the names of concepts with the text backbone: (C, features)."""
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    return cached_text(load_text_backbone(recipe.features.text), FeatureCache()).encode(names)


@dataclass(eq=False)
class Training:
    """The state of a run.

    Attributes:
        folder: Folder of the model.
        encode: Calls the model of ``start`` in the recipe's precision.
    """

    recipe: Recipe
    prepared: Prepared
    folder: Path
    device: torch.device
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

    def save_checkpoint(self) -> None:
        """Write a checkpoint, with the whole state of the run."""
        states = self.model.state_dict(), self.optimizer.state_dict()
        recipe, corpus = dump_recipe(self.recipe), self.prepared.meta["key"]
        save_checkpoint(self.folder, Checkpoint(recipe, corpus, self.progress, *states))


SAVE_EVERY = 600.0
"""Seconds between two checkpoints within an epoch; a killed run loses no more than this."""


def train_on(recipe: Recipe, arrays: Path, folder: Path, watcher: Watcher | None) -> None:
    """Train on a prepared corpus until the end, and write the model; a checkpoint in the folder is continued."""
    training = _begin(recipe, open_prepared(arrays), folder, watcher)
    try:
        with reporting_full_disk(folder):
            _epochs(training)
            write_model(training)
    except (TrainingError, MemoryError, RuntimeError) as error:
        if isinstance(error, TrainingError) or out_of_memory(error):
            raise _explained(error, training) from error
        raise


def _begin(recipe: Recipe, prepared: Prepared, folder: Path, watcher: Watcher | None) -> Training:
    check_run(recipe, prepared)
    check_warmup(recipe, len(epoch_batches(prepared, recipe, "train", 0)))
    checkpoint = load_checkpoint(folder)
    start = new_model(recipe, prepared, first=checkpoint is None)
    optimizer = make_optimizer(start.model, recipe)
    device = best_device()
    encode = placed(start.model, recipe.training, device)
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
        optimizer.load_state_dict(checkpoint.optimizer)
    return Training(recipe, prepared, folder, device, watcher, start, encode, optimizer, progress)


def _epochs(training: Training) -> None:
    settings = training.recipe.training
    while True:
        if wants_remedy(training.progress, training.recipe):
            training.begin_again()
        progress = training.progress
        if training.recipe.starts_from is not None and progress.before is None:
            # The model that training starts from remains the best one if no epoch is better.
            progress.before, chosen_by = _validated(training)
            progress.keep_if_best(chosen_by, training.model.state_dict(), count=settings.average)
        if has_ended(progress, settings.epochs):
            break
        row, loss, chosen_by = _epoch(training)
        progress.plateau.see(loss, settings, steps=int(row["step"] or 0), informed=informed(row))
        progress.end_epoch(row)
        progress.keep_if_best(chosen_by, training.model.state_dict(), count=settings.average)
        training.save_checkpoint()
        write_log(training.folder, progress.history)
        if training.watcher:
            training.watcher.epoch(row)


def _validated(training: Training) -> tuple[Row, float]:
    """Return validation figures of the model, and the number by which the best epochs are chosen (lowest is best)."""
    recipe, prepared, device = training.recipe, training.prepared, training.device
    training.model.eval()
    figures = validate(training.model, prepared, recipe, device)
    rank = None
    if recipe.training.choose == "median-rank":
        rank = validation_median_rank(training.model, prepared, recipe, device)
    row = {
        "validation_loss": figures.loss,
        "no_information": figures.no_information,
        "validation_auc": figures.auc,
        "validation_median_rank": rank,
        "positive_cosines": figures.positive,
    }
    return row, figures.loss if rank is None else rank


def _epoch(training: Training) -> tuple[Row, float, float]:
    """Do one pass over the training documents, and validate.

    Returns the row of the log, the validation loss, and the number by which the best epochs are chosen.
    """
    progress = training.progress
    epoch = progress.epoch
    began = time.perf_counter() - progress.seconds  # as if there had been no interruptions
    steps, rate = _steps(training, began)
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
        "no_gradient": progress.no_gradient / progress.step,
        "seconds": time.perf_counter() - began,
    }
    return row, loss, chosen_by


def _steps(training: Training, began: float) -> tuple[int, float]:
    """Do the remaining steps of an epoch that ``began`` then; return its number of steps and the last learning rate."""
    recipe, progress, prepared = training.trained_by, training.progress, training.prepared
    epoch = progress.epoch
    planned = epoch_batches(prepared, recipe, "train", epoch)
    steps = len(planned)
    rate = partial(learning_rate, recipe.training, epoch, steps=steps, plateau=progress.plateau)
    training.model.train()
    saved = time.perf_counter()
    reads = planned_reads(prepared, recipe, planned, training=True, epoch=epoch, start=progress.step)
    for step, batch in enumerate(read_ahead(reads, readers=recipe.training.readers), progress.step):
        losses = training_step(
            training.device, training.encode, training.optimizer, batch, recipe, epoch=epoch, step=step, rate=rate(step)
        )
        loss = float(losses.sum())
        if not math.isfinite(loss):
            raise TrainingError(f"the loss of epoch {epoch + 1}, step {step + 1} is {loss}")
        progress.step, progress.total, progress.count = step + 1, progress.total + loss, progress.count + len(losses)
        # Gradients stay until the next step: a step without any shows that nothing is learned, see ``collapse.died``.
        progress.no_gradient += not any(p.grad is not None and bool(p.grad.any()) for p in training.model.parameters())
        if training.watcher:
            training.watcher.step(epoch + 1, step + 1, steps, loss / len(losses))
        if time.perf_counter() - saved >= SAVE_EVERY:
            progress.seconds = time.perf_counter() - began
            training.save_checkpoint()
            saved = time.perf_counter()
    return steps, rate(steps - 1)


def out_of_memory(error: Exception) -> bool:
    """Tell whether an error means that memory ran out; on a CPU PyTorch shows it only in the message."""
    signs = ("out of memory", "can't allocate memory", "not enough memory")
    message = str(error).lower()
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or any(sign in message for sign in signs)


def _explained(error: Exception, training: Training) -> TrainingError:
    """Turn an error into a ``TrainingError`` that names the model that was saved, and settings that may help."""
    progress = training.progress
    if progress.best:
        save_best(training)
        saved = f"the best model so far (epoch {progress.best[0][1]}) is in {training.folder}"
    else:
        saved = "no epoch was finished, so there is no model"
    if isinstance(error, TrainingError):
        advice = "In another folder, a lower training.learning_rate, training.clip or training.warmup may help"
        return TrainingError(f"{error}; {saved}. {advice}")
    where = f"epoch {progress.epoch + 1}" if progress.epoch < training.recipe.training.epochs else "the evaluation"
    return TrainingError(
        f"memory ran out in {where}; {saved}. In another folder, a smaller training.batch, training.max_sentences, "
        "training.max_images or training.max_regions may help; in this one the same command goes on from the last "
        "checkpoint"
    )


def write_model(training: Training) -> None:
    """Write the best model and its metrics, and remove the checkpoint."""
    folder = training.folder
    write_log(folder, training.progress.history)
    save_best(training)
    training.model.load_state_dict(training.progress.best_weights())
    training.model.eval()
    metrics = {**_chosen(training), **_measured(training)}
    write_text(folder / CARD, model_card(training.recipe, training.prepared.meta, metrics), force=True)
    # Metrics come last: a folder that has them counts as finished.
    write_text(folder / METRICS, json.dumps(metrics, indent=1), force=True)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def save_best(training: Training) -> None:
    """Write the mean of the best weights so far."""
    recipe, meta = training.recipe, training.prepared.meta
    save_model(
        training.folder,
        recipe,
        training.start.inputs,
        training.progress.best_weights(),
        vocabulary=training.start.vocabulary,
        backbones=meta["backbones"],
        concepts=meta["concepts"] if recipe.reads_concepts else (),
        relations=learned_relations(recipe, training.prepared),
    )


def _chosen(training: Training) -> dict[str, Any]:
    """Return the epochs of the model, and the figures by which they were chosen."""
    recipe, progress = training.recipe, training.progress
    epoch = progress.best[0][1]
    best = progress.history[epoch - 1] if epoch else progress.before or {}  # epoch 0 is the model before training
    documents = training.prepared.documents("validation")
    images = int(span_counts(training.prepared.image_offsets, documents).sum())
    figures: dict[str, Any] = {
        "best_epoch": epoch,
        "validation_loss": best["validation_loss"],
        "epochs": progress.epoch,
        "validated_on": {"documents": len(documents), "images": images},
    }
    meta = training.prepared.meta
    if meta["skipped"] or meta["images_left_out"]:
        figures["left_out"] = {name: meta[name] for name in ("skipped", "images_left_out", "lacking")}
    if progress.before is not None:
        figures["before"] = progress.before
        figures["last_loss"] = progress.history[-1]["validation_loss"]
    figures |= {name: best[name] for name in ("validation_median_rank", "no_information") if best[name] is not None}
    if progress.collapsed is not None:
        figures["began_again_after"] = progress.collapsed
    collapse = collapse_of(progress, recipe)
    if collapse is not None:
        figures["collapse"] = collapse
    if recipe.training.average > 1:
        figures["averaged_epochs"] = sorted(epoch for _, epoch, _ in progress.best)
        figures["validation_loss"] = validate(training.model, training.prepared, recipe, training.device).loss
    return figures


def _measured(training: Training) -> dict[str, Any]:
    """Compute the metrics of the model on the splits that it was not trained on."""
    recipe, model, prepared, device = training.recipe, training.model, training.prepared, training.device
    relations = learned_relations(recipe, prepared)
    metrics: dict[str, Any] = {"relations": relations} if relations else {}
    if recipe.reads_concepts:
        metrics["concepts"] = concept_shares(prepared)
    for split in ("validation", "test"):
        if prepared.all_single(split):
            if len(prepared.documents(split)):
                pairs = split_pairs(model, prepared, recipe, split, device)
                metrics[split] = pair_figures(model, pairs, relations)
            continue
        evaluation = evaluate_split(model, prepared, recipe, split, device)
        if evaluation is not None:
            metrics[split] = evaluation.as_dict(model=recipe.name, corpus="", split=split)
    return metrics


class Watcher(Protocol):
    """Shows the progress of a run to the user."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """Called after each step."""

    def epoch(self, row: dict[str, float | None]) -> None:
        """Called after each epoch, with its row of the log."""


def best_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def placed(model: JointModel, settings: TrainingSettings, device: torch.device) -> Callable[..., Any]:
    """Move a model to a device, and return a function that calls it in the recipe's precision."""
    model.to(device)
    if settings.precision != "bf16":
        return model

    def forward(*inputs: Any, **kwargs: Any) -> Any:
        with torch.autocast(device.type, torch.bfloat16):
            return model(*inputs, **kwargs)

    return forward
