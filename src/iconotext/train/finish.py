"""Ends a training run: writes the best model, its figures and its card."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from iconotext.embed.folder import CARD, METRICS, save_model
from iconotext.train.card import model_card
from iconotext.train.checkpoint import CHECKPOINT
from iconotext.train.collapse import collapse_of
from iconotext.train.log import write_log
from iconotext.train.pair_scores import pair_figures, split_pairs
from iconotext.train.prepared import Prepared, learned_relations, span_counts
from iconotext.train.summary import concept_shares
from iconotext.train.validate import evaluate_split, validate
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.train.training import Training


def write_model(training: Training) -> None:
    """Write the best model and its figures; the checkpoint is then no longer needed."""
    folder = training.folder
    write_log(folder, training.progress.history)
    save_best(training)
    training.model.load_state_dict(training.progress.best_weights())
    training.model.eval()
    metrics = {**_chosen(training), **_measured(training)}
    write_text(folder / CARD, model_card(training.recipe, training.prepared.meta, metrics), force=True)
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
    """The epochs of the model, and the figures by which they were chosen."""
    recipe, progress = training.recipe, training.progress
    epoch = progress.kept[0][1]
    best = progress.history[epoch - 1] if epoch else progress.before or {}  # epoch 0: before training
    found: dict[str, Any] = {
        "best_epoch": epoch,
        "validation_loss": best["validation_loss"],
        "epochs": progress.epoch,
        "validated_on": _sizes(training.prepared),
    }
    meta = training.prepared.meta
    if meta["skipped"] or meta["images_left_out"]:
        found["left_out"] = {name: meta[name] for name in ("skipped", "images_left_out", "lacking")}
    if progress.before is not None:
        found["before"] = progress.before
        found["last_loss"] = progress.history[-1]["validation_loss"]
    for name in ("validation_median_rank", "no_information"):
        if best[name] is not None:
            found[name] = best[name]
    if progress.collapsed is not None:
        found["began_again_after"] = progress.collapsed
    collapse = collapse_of(progress, recipe)
    if collapse is not None:
        found["collapse"] = collapse
    if recipe.training.average > 1:
        found["averaged_epochs"] = sorted(epoch for _, epoch, _ in progress.kept)
        found["validation_loss"] = validate(training.model, training.prepared, recipe, training.processes.device).loss
    return found


def _sizes(prepared: Prepared) -> dict[str, int]:
    """Number of validation documents and images."""
    documents = prepared.documents("validation")
    return {"documents": len(documents), "images": int(span_counts(prepared.image_offsets, documents).sum())}


def _measured(training: Training) -> dict[str, Any]:
    """The figures of the model on the splits that it was not trained on."""
    recipe, model, prepared, device = training.recipe, training.model, training.prepared, training.processes.device
    relations = learned_relations(recipe, prepared)
    found: dict[str, Any] = {"relations": relations} if relations else {}
    if recipe.reads_concepts:
        found["concepts"] = concept_shares(prepared)
    for split in ("validation", "test"):
        if prepared.all_single(split):
            if len(prepared.documents(split)):
                pairs = split_pairs(model, prepared, recipe, split, device)
                found[split] = pair_figures(model, pairs, relations)
            continue
        evaluation = evaluate_split(model, prepared, recipe, split, device)
        if evaluation is not None:
            found[split] = evaluation.as_dict(model=recipe.name, corpus="", split=split)
    return found
