"""Ends a training run: ``write_model`` writes the best model, its metrics and its card.

``save_best`` writes only the best model so far.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from iconotext.encoders.stored_model import CARD, METRICS, save_model
from iconotext.report.as_markdown import inline_text
from iconotext.system.files import write_text
from iconotext.train.checkpoint import CHECKPOINT
from iconotext.train.log import write_log
from iconotext.train.prepared import Prepared, learned_relations, span_counts
from iconotext.train.summary import collapse_of, concept_shares, describe_shares, notes
from iconotext.train.validate import evaluate_split, pair_figures, split_pairs, validate

if TYPE_CHECKING:
    from iconotext.recipe import Recipe
    from iconotext.train.loop import Training


CARD_METRICS = {"AUC": "auc", "p@1": "p@1", "p@5": "p@5"}


def model_card(recipe: Recipe, prepared: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Write the model card in Markdown: training, data (``Prepared.meta``), metrics, and how to use the model."""
    backbones = prepared["backbones"]
    best = f"validation loss {metrics['validation_loss']:.4f}"
    if "validation_median_rank" in metrics:
        best += f"; chosen by the median rank on validation, {metrics['validation_median_rank']:.1f}"
    lines = [
        f"# {inline_text(recipe.name)}",
        "",
        f"Links the images of documents to their sentences. Trained with iconotext, {_learned_from(recipe)}.",
        "",
        f"- Recipe: `recipe.toml` (follows {inline_text(recipe.follows)})",
        f"- Starts from: text {inline_text(backbones['text'])}, images {inline_text(backbones['image'])}"
        + (f", the model {inline_text(recipe.init)}" if recipe.init else ""),
        f"- Documents: {prepared['documents']} ({prepared['skipped']} without sentences or readable images left out)",
        f"- Best epoch: {metrics['best_epoch']} of {metrics['epochs']}, {best}",
        "",
    ]
    lines[-1:] = [*(f"- Note: {inline_text(line)}" for line in notes(metrics)), ""]
    if metrics.get("relations"):
        names = ", ".join(map(inline_text, metrics["relations"]))
        lines[-1:] = [f"- Tells the relations {names} between a text and an image", ""]
    if "concepts" in metrics:
        lines[-1:] = [f"- Concepts: {describe_shares(metrics['concepts'])}", ""]
    paired = {split: metrics[split] for split in ("validation", "test") if "median_rank" in metrics.get(split, {})}
    if paired:
        lines += [*_pair_table(paired), "", "    iconotext library add LIBRARY photos/ --model THIS_FOLDER", ""]
        return "\n".join(lines)
    rows = [f"| {split} | {_figures(metrics[split])} |" for split in ("validation", "test") if split in metrics]
    if rows:
        head = " | ".join(CARD_METRICS)
        lines += [f"| split | documents | {head} |", "|---" * (2 + len(CARD_METRICS)) + "|", *rows, ""]
        lines += ["Per cent, with 95 % bootstrap intervals over documents. Validation documents chose the epoch.", ""]
    else:
        lines += ["No gold links were known, so nothing says how good the links are but the validation loss.", ""]
    lines += ["    iconotext link docs/ --model THIS_FOLDER", ""]
    return "\n".join(lines)


def _pair_table(splits: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the lines of a table of retrieval, and of average precision of the relations, by split."""
    lines = ["| split | pairs | median rank | R@1 | R@5 | R@10 |", "|---|---|---|---|---|---|"]
    for split, found in splits.items():
        recalls = " | ".join(f"{100 * found[f'r@{k}']:.1f}" for k in (1, 5, 10))
        lines.append(f"| {split} | {found['pairs']} | {found['median_rank']:.1f} of {found['pool']} | {recalls} |")
    relations = list(dict.fromkeys(name for found in splits.values() for name in found.get("average_precision", {})))
    if relations:
        lines += [
            "",
            f"| average precision | {' | '.join(map(inline_text, relations))} |",
            "|---" * (1 + len(relations)) + "|",
        ]
        for split, found in splits.items():
            values = [found.get("average_precision", {}).get(name) for name in relations]
            shown = " | ".join("–" if value is None else f"{value:.2f}" for value in values)
            lines.append(f"| {split} | {shown} |")
    return lines


def _learned_from(recipe: Recipe) -> str:
    if recipe.similarity.kind != "labelled-pairs":
        return "without labelled links"
    share = recipe.training.labelled
    return "on the gold links of its training documents" + (f", of {100 * share:g} % of them" if share < 1 else "")


def _figures(found: Mapping[str, Any]) -> str:
    cells = [str(found["documents"] - found["undefined"])]
    for metric in CARD_METRICS.values():
        interval = found["intervals"][metric]
        cells.append(
            "–" if interval is None else f"{100 * found[metric]:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"
        )
    return " | ".join(cells)


def write_model(training: Training) -> None:
    """Write the best model and its metrics, and remove the checkpoint."""
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
    """Return the epochs of the model, and the figures by which they were chosen."""
    recipe, progress = training.recipe, training.progress
    epoch = progress.kept[0][1]
    best = progress.history[epoch - 1] if epoch else progress.before or {}  # epoch 0 is the model before training
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
    documents = prepared.documents("validation")
    return {"documents": len(documents), "images": int(span_counts(prepared.image_offsets, documents).sum())}


def _measured(training: Training) -> dict[str, Any]:
    """Compute the metrics of the model on the splits that it was not trained on."""
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
