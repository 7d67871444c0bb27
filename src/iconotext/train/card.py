"""Writes the model card: a description of the model for somebody who finds the folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from iconotext.report.as_markdown import inline_text
from iconotext.train.summary import describe_shares, notes

if TYPE_CHECKING:
    from iconotext.recipe import Recipe

METRICS = {"AUC": "auc", "p@1": "p@1", "p@5": "p@5"}


def model_card(recipe: Recipe, prepared: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Markdown: how a model was trained, on which data (``Prepared.meta``), how good it is, and how to use it."""
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
        head = " | ".join(METRICS)
        lines += [f"| split | documents | {head} |", "|---" * (2 + len(METRICS)) + "|", *rows, ""]
        lines += ["Per cent, with 95 % bootstrap intervals over documents. Validation documents chose the epoch.", ""]
    else:
        lines += ["No gold links were known, so nothing says how good the links are but the validation loss.", ""]
    lines += ["    iconotext link docs/ --model THIS_FOLDER", ""]
    return "\n".join(lines)


def _pair_table(splits: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Retrieval, and average precision of the relations, by split."""
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
    for metric in METRICS.values():
        interval = found["intervals"][metric]
        cells.append(
            "–" if interval is None else f"{100 * found[metric]:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"
        )
    return " | ".join(cells)
