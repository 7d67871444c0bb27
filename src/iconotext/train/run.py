"""A training run from recipe and corpora to a model folder; killed at any moment, the same call goes on from there."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from iconotext.embed.folder import METRICS, RECIPE, init_folder, is_model_folder, load_model, save_model
from iconotext.errors import SettingError, TrainingError
from iconotext.recipe import Recipe, dump_recipe
from iconotext.train.checkpoint import CHECKPOINT, Progress, load_checkpoint, save_checkpoint
from iconotext.train.log import TensorBoardLog, write_log
from iconotext.train.prepare import Report, prepare
from iconotext.train.prepared import Prepared, open_prepared
from iconotext.write import write_text

if TYPE_CHECKING:
    import torch
    from lightning_fabric import Fabric
    from torch import Tensor

    from iconotext.embed.model import Inputs, JointModel
    from iconotext.features.vocabulary import Vocabulary
    from iconotext.train.batches import Batch

CORPUS = "corpus"
"""Folder within the model's, where the prepared corpus lies while training runs."""


class Watcher(Protocol):
    """Is told how a run goes on, to show it to someone."""

    def step(self, epoch: int, step: int, steps: int, loss: float) -> None:
        """After each step."""

    def epoch(self, row: dict[str, float | None]) -> None:
        """After each epoch, with its row of the log."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What the processes of a run share.

    Attributes:
        recipe: The resolved recipe.
        arrays: Folder of the prepared corpus.
        folder: Of the model.
        watcher: Told how it goes on.
    """

    recipe: Recipe
    arrays: Path
    folder: Path
    watcher: Watcher | None


def train(
    recipe: Recipe,
    corpora: Sequence[Path],
    folder: Path,
    *,
    prepared: Path | None = None,
    report: Report | None = None,
    watcher: Watcher | None = None,
) -> Path:
    """Train a model, or go on with one that was interrupted, or do nothing for one that is done.

    The folder then holds the model (see ``embed.folder``), ``log.csv``, ``tensorboard/`` and ``metrics.json``.

    Args:
        recipe: What to do.
        corpora: Corpus files; more than one are trained on together.
        folder: Of the model; made if need be.
        prepared: Where the prepared corpus lies or will lie, to share it among models; by default in the folder,
            and removed in the end.
        report: Told how encoding goes on.
        watcher: Told how training goes on.

    Returns:
        The folder.

    Raises:
        SettingError: There is a model of another recipe in the folder.
        CorpusError, FeatureError: See ``prepare``.
        TrainingError: The loss is no number any more, or memory ran out; the best model so far is in the folder.
    """
    recipe = with_init(recipe)
    text = dump_recipe(recipe)
    if finished(folder):
        _same_recipe(folder, (folder / RECIPE).read_text(encoding="utf-8"), text)
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    from iconotext.train.parallel import launch

    arrays = prepare(recipe, corpora, prepared or folder / CORPUS, report=report)
    launch(_train, _Run(recipe, arrays.folder, folder, watcher))
    if prepared is None:
        import shutil

        shutil.rmtree(folder / CORPUS, ignore_errors=True)
    return folder


def with_init(recipe: Recipe) -> Recipe:
    """The recipe with the encoders of the model that it starts from, if it names one."""
    if recipe.init is None:
        return recipe
    old = load_model(init_folder(recipe.init)).recipe
    return recipe.model_copy(
        update={name: getattr(old, name) for name in ("dim", "features", "text", "image", "linking")}
    )


def finished(folder: Path) -> bool:
    """Whether the folder holds a model whose training has ended."""
    return is_model_folder(folder) and (folder / METRICS).is_file()


def _same_recipe(folder: Path, old: str, new: str) -> None:
    if old == new:
        return
    import tomllib

    old_values, new_values = (_flat(tomllib.loads(each)) for each in (old, new))
    keys = [key for key in {**old_values, **new_values} if old_values.get(key) != new_values.get(key)]
    raise SettingError(
        f"{folder}: holds a model of another recipe, which differs in {', '.join(keys)}; name another folder with "
        "--output, or remove this one"
    )


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _train(fabric: Fabric, run: _Run) -> None:
    """The loop, in each process."""
    import torch

    from iconotext.embed.model import Inputs, JointModel
    from iconotext.train.validate import evaluate_split, validation_loss

    recipe, prepared, folder = run.recipe, open_prepared(run.arrays), run.folder
    settings = recipe.training
    vocabulary = _vocabulary(recipe, prepared)
    inputs = Inputs(
        words=len(vocabulary) if vocabulary else 0,
        text_features=prepared.meta["text_features"],
        image_features=prepared.meta["image_features"],
    )
    torch.manual_seed(recipe.seed)
    model = JointModel(recipe, inputs)
    text = dump_recipe(recipe)
    progress = Progress()
    optimizer = make_optimizer(model, recipe)
    resumed = load_checkpoint(folder)
    if resumed is not None:
        old, progress, weights, optimizer_state = resumed
        _same_recipe(folder, old, text)
        model.load_state_dict(weights)
        optimizer.load_state_dict(optimizer_state)
    elif recipe.text.word_vectors is not None:
        _start_from_word_vectors(model, recipe, vocabulary)
    elif recipe.init is not None:
        model.load_state_dict(load_model(init_folder(recipe.init)).model.state_dict())
    wrapped, wrapped_optimizer = fabric.setup(model, optimizer)
    main = fabric.global_rank == 0
    tensorboard = TensorBoardLog(folder) if main and progress.epoch else None
    try:
        for epoch in range(progress.epoch, settings.epochs):
            started = time.perf_counter()
            train_loss, rate, steps = _epoch(fabric, run, prepared, wrapped, wrapped_optimizer, progress, epoch)
            model.eval()
            loss = validation_loss(model, prepared, recipe, fabric.device, epoch)
            evaluation = evaluate_split(model, prepared, recipe, "validation", fabric.device)
            if not math.isfinite(loss):
                raise TrainingError(f"the validation loss of epoch {epoch + 1} is {loss}")
            progress.plateau.see(loss, settings)
            progress.epoch = epoch + 1
            progress.history.append(
                {
                    "epoch": epoch + 1,
                    "step": steps * (epoch + 1),
                    "learning_rate": rate,
                    "train_loss": train_loss,
                    "validation_loss": loss,
                    "validation_auc": evaluation.means["auc"] if evaluation else None,
                    "seconds": time.perf_counter() - started,
                }
            )
            progress.keep(loss, model.state_dict(), count=settings.average)
            if main:
                save_checkpoint(folder, text, progress, model.state_dict(), optimizer.state_dict())
                write_log(folder, progress.history)
                tensorboard = tensorboard or TensorBoardLog(folder)
                tensorboard.write(progress.history)
                if run.watcher:
                    run.watcher.epoch(progress.history[-1])
    except (TrainingError, MemoryError, RuntimeError) as error:
        raise _explained(error, run, progress, lambda: _save(run, prepared, progress, inputs, vocabulary)) from error
    finally:
        if tensorboard:
            tensorboard.close()
    if not main:
        return
    _save(run, prepared, progress, inputs, vocabulary)
    model.load_state_dict(progress.best_weights())
    model.eval()
    metrics = _metrics(run, prepared, progress, model, fabric.device)
    write_text(folder / METRICS, json.dumps(metrics, indent=1), force=True)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def make_optimizer(model: JointModel, recipe: Recipe) -> Any:
    """Adam, or AdamW where there is weight decay; vectors, biases and the scale do not decay."""
    import torch

    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [each for each in trained if each.ndim > 1], "weight_decay": recipe.training.weight_decay},
        {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
    ]
    kind = torch.optim.AdamW if recipe.training.weight_decay else torch.optim.Adam
    return kind([group for group in groups if group["params"]], lr=recipe.training.learning_rate, fused=True)


def _epoch(
    fabric: Fabric, run: _Run, prepared: Prepared, model: Any, optimizer: Any, progress: Progress, epoch: int
) -> tuple[float, float, int]:
    """One pass over the training documents: mean loss, last learning rate, number of steps."""
    from iconotext.train.batches import batches_ahead, epoch_batches

    recipe, rank = run.recipe, fabric.global_rank
    planned = epoch_batches(prepared, recipe, "train", epoch, rank=rank, ranks=fabric.world_size)
    model.train()
    total = count = rate = 0.0
    batches = batches_ahead(prepared, recipe, planned, training=True, epoch=epoch, rank=rank)
    for step, batch in enumerate(batches):
        rate = set_learning_rate(optimizer, progress, recipe, epoch=epoch, step=step, steps=len(planned))
        losses = training_step(fabric, model, optimizer, batch, recipe, epoch=epoch, step=step)
        value = float(losses.mean())
        if not math.isfinite(value):
            raise TrainingError(f"the loss of epoch {epoch + 1}, step {step + 1} is {value}")
        total, count = total + float(losses.sum()), count + len(losses)
        if run.watcher and rank == 0:
            run.watcher.step(epoch + 1, step + 1, len(planned), value)
    return total / count, rate, len(planned)


def set_learning_rate(
    optimizer: Any, progress: Progress, recipe: Recipe, *, epoch: int, step: int, steps: int
) -> float:
    """Set the learning rate of a step, and return it."""
    from iconotext.train.schedule import learning_rate

    rate = learning_rate(recipe.training, epoch=epoch, step=step, steps=steps, plateau=progress.plateau)
    for group in optimizer.param_groups:
        group["lr"] = rate
    return rate


def training_step(
    fabric: Fabric, model: Any, optimizer: Any, batch: Batch, recipe: Recipe, *, epoch: int, step: int
) -> Tensor:
    """Forward, loss, backward, update; what is random in it comes from seed, epoch, step and process alone.

    Returns:
        (P,) losses before the update.
    """
    import numpy as np
    import torch

    from iconotext.train.loss import batch_loss

    seed = int(np.random.SeedSequence([recipe.seed, epoch, step, fabric.global_rank]).generate_state(1, np.uint64)[0])
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    losses, _ = batch_loss(model, batch.to(fabric.device), recipe, epoch=epoch, generator=generator)
    optimizer.zero_grad(set_to_none=True)
    fabric.backward(losses.mean())
    if recipe.training.clip is not None:
        fabric.clip_gradients(model, optimizer, max_norm=recipe.training.clip)
    optimizer.step()
    return losses.detach()


def _vocabulary(recipe: Recipe, prepared: Prepared) -> Vocabulary | None:
    from iconotext.features.vocabulary import load_vocabulary

    return load_vocabulary(prepared.folder / "vocabulary.txt") if recipe.features.text == "words" else None


def _start_from_word_vectors(model: JointModel, recipe: Recipe, vocabulary: Vocabulary | None) -> None:
    import torch

    from iconotext.features.word_vectors import load_word_vectors

    assert vocabulary is not None
    assert recipe.text.word_vectors is not None
    vectors, found = load_word_vectors(recipe.text.word_vectors, vocabulary.words, dim=recipe.text.word_dim)
    if not found:
        raise SettingError(f"{recipe.text.word_vectors}: has no vector for any of the {len(vocabulary)} words")
    model.set_word_vectors(torch.from_numpy(vectors))


def _save(run: _Run, prepared: Prepared, progress: Progress, inputs: Inputs, vocabulary: Vocabulary | None) -> None:
    save_model(
        run.folder,
        run.recipe,
        inputs,
        progress.best_weights(),
        vocabulary=vocabulary,
        backbones=prepared.meta["backbones"],
    )


def _metrics(
    run: _Run, prepared: Prepared, progress: Progress, model: JointModel, device: torch.device
) -> dict[str, Any]:
    """What ``metrics.json`` holds: where the best epoch was, and the figures on validation and test documents."""
    from iconotext.train.validate import evaluate_split

    loss, epoch, _ = progress.kept[0]
    metrics: dict[str, Any] = {"best_epoch": epoch, "validation_loss": loss, "epochs": progress.epoch}
    for split in ("validation", "test"):
        evaluation = evaluate_split(model, prepared, run.recipe, split, device)
        if evaluation is not None:
            metrics[split] = evaluation.as_dict(model=run.recipe.name, corpus="", split=split)
    return metrics


def _explained(error: Exception, run: _Run, progress: Progress, save: Callable[[], None]) -> Exception:
    """The error with what may help and what was kept; anything but trouble with numbers and memory as it is."""
    memory = isinstance(error, MemoryError) or "memory" in str(error).lower()
    if not memory and not isinstance(error, TrainingError):
        return error
    if progress.kept:
        save()
        kept = f"the best model so far (epoch {progress.kept[0][1]}) is in {run.folder}"
    else:
        kept = "no epoch was finished, so there is no model"
    if memory:
        return TrainingError(
            f"memory ran out in epoch {progress.epoch + 1}; {kept}. Make training.batch smaller, or set "
            "training.max_sentences and training.max_images"
        )
    return TrainingError(f"{error}; {kept}. A lower training.learning_rate, training.clip or training.warmup may help")
