"""What a trained model is worth, in a few lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from iconotext.embed.folder import METRICS
from iconotext.train.concept_shares import describe_shares

FIGURES = {"AUC": "auc", "p@1": "p@1", "p@5": "p@5"}


def model_summary(folder: Path) -> Iterator[str]:
    """Lines about a model that links: its best epoch, then its figures on each split that it was not trained on."""
    metrics = _metrics(folder)
    chosen_by = metrics.get("validation_median_rank")
    yield (
        f"{folder}: best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"validation loss {metrics['validation_loss']:.4f}"
        + ("" if chosen_by is None else f", median rank {chosen_by:.1f}, which chose it")
    )
    if "concepts" in metrics:
        yield describe_shares(metrics["concepts"])
    yield from collapse_lines(metrics)
    for split in ("validation", "test"):
        found = metrics.get(split, {})
        if "median_rank" in found:
            recalls = ", ".join(f"R@{k} {100 * found[f'r@{k}']:.1f}" for k in (1, 5, 10))
            rank = f"median rank {found['median_rank']:.1f} of {found['pool']}"
            yield f"{split}: {rank}, {recalls} ({found['pairs']} pairs)"
            for name, value in found.get("average_precision", {}).items():
                yield f"  {name}: average precision {_precision(value)}"
        elif found.get("auc") is not None:
            figures = ", ".join(f"{name} {100 * found[key]:.1f}" for name, key in FIGURES.items())
            yield f"{split}: {figures} ({found['documents'] - found['undefined']} documents with gold links)"


def collapse_lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    """What ``metrics.json`` says of a run that collapsed, or was begun again."""
    if "began_again_after" in metrics:
        yield (
            f"nothing was learned in {metrics['began_again_after']} epochs, so training began again with the mean of "
            "the negatives (objective.remedy_epochs)"
        )
    if "collapse" in metrics:
        yield str(metrics["collapse"]["why"])


def relation_summary(folder: Path) -> Iterator[str]:
    """Lines about a relation model: how well it foretells each relation, and what it was trained on."""
    metrics = _metrics(folder)
    for name, found in metrics["relations"].items():
        yield (
            f"{name}: average precision {_precision(found['average_precision'])} "
            f"(chance {found['positive_rate']:.2f}), {found['pairs']} pairs"
        )
    for name, found in metrics["pictures"].get("held_out", {}).items():
        yield (
            f"{name}: with its picture {_precision(found['text_and_image'])}, without "
            f"{_precision(found['text'])}, {found['pairs']} pairs: the picture "
            + ("counts" if metrics["pictures"]["kept"][name] else "does not count")
        )
    if "splits" in metrics:  # it is not in older ones
        of = " and ".join(f"{metrics['splits'].get(name, 0)} of {name}" for name in ("validation", "test"))
        yield f"trained on {metrics['pairs']} labelled pairs, {of} splits"


def _metrics(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    return found


def _precision(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
