"""Describes trained models in a few lines, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.encoders.stored_model import VOCABULARY, read_metrics
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.features.word_vectors import load_vocabulary, words_of
from iconotext.plain_text import counted
from iconotext.report.as_markdown import inline_text

if TYPE_CHECKING:
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared

FEW = 20
"""Number of validation images below which differences between epochs are chance."""

LITTLE = 0.01
"""Share of the validation loss below which differences may be chance."""


def model_summary(folder: Path) -> Iterator[str]:
    """Yield lines about a linking model: its best epoch, then its metrics on each split that it was not trained on."""
    first, *others = _figures(read_metrics(folder))
    yield f"{folder}: {first}"
    yield from others


def _figures(metrics: Mapping[str, Any]) -> Iterator[str]:
    chosen_by = metrics.get("validation_median_rank")
    yield (
        f"best epoch {metrics['best_epoch']} of {metrics['epochs']}, validation loss {metrics['validation_loss']:.4f}"
        + ("" if chosen_by is None else f", median rank {chosen_by:.1f}, which chose it")
    )
    if "concepts" in metrics:
        yield describe_shares(metrics["concepts"])
    yield from notes(metrics)
    for split in ("validation", "test"):
        figures = metrics.get(split, {})
        if "median_rank" in figures:
            recalls = ", ".join(f"R@{k} {100 * figures[f'r@{k}']:.1f}" for k in (1, 5, 10))
            rank = f"median rank {figures['median_rank']:.1f} of {figures['pool']}"
            yield f"{split}: {rank}, {recalls} ({figures['pairs']} pairs)"
            for name, value in figures.get("average_precision", {}).items():
                yield f"  {name}: average precision {_precision(value)}"
        elif figures.get("auc") is not None:
            text = ", ".join(f"{LINK_METRICS[name].label} {100 * figures[name]:.1f}" for name in ("auc", "p@1", "p@5"))
            yield f"{split}: {text} ({figures['documents'] - figures['undefined']} documents with gold links)"


def notes(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield remarks from ``metrics.json``: what was gained, learning that failed, or too little data to judge."""
    if left := metrics.get("left_out"):
        pictures, documents = counted(left["images_left_out"], "picture"), counted(left["skipped"], "document")
        yield (
            f"left out: {pictures} that could not be used, {documents} without a sentence or a picture; documents that "
            f"lack some of their pictures: {left['lacking']:,}"
        )
    if "began_again_after" in metrics:
        yield (
            f"nothing was learned in {metrics['began_again_after']} epochs, so training was restarted, with the mean "
            "of the negatives for the loss (objective.remedy_epochs)"
        )
    if "collapse" in metrics:
        yield str(metrics["collapse"]["why"])
    if "before" in metrics:
        yield from _gains(metrics)
    sizes = metrics.get("validated_on")
    if sizes and sizes["images"] < FEW:
        pictures, documents = counted(sizes["images"], "picture"), counted(sizes["documents"], "document")
        yield (
            f"validated on {pictures} of {documents}: too few to tell whether training helped. Give more documents, "
            "and their captions (iconotext corpus build pairs)"
        )


def _gains(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between a model and the model that it started from."""
    before, loss = metrics["before"], metrics["validation_loss"]
    auc = before["validation_auc"]
    yield f"before training: validation loss {before['validation_loss']:.4f}"
    if not metrics["best_epoch"]:
        yield f"no epoch lowered the validation loss (the last: {metrics['last_loss']:.4f}): the model is unchanged"
        return
    if loss > (1 - LITTLE) * before["validation_loss"]:
        yield f"it is now less than {100 * LITTLE:g} % better: training changed little"
    if "auc" in (now := metrics.get("validation", {})) and None not in (auc, now["auc"]):
        documents = counted(now["documents"] - now["undefined"], "document")
        yield (
            f"AUC of the known links by the picture alone in {documents} not trained on: {100 * auc:.1f} before, "
            f"{100 * now['auc']:.1f} now; `iconotext evaluate --compare` says whether that may be chance"
        )
    elif "median_rank" not in now:
        yield (
            "not measured: whether the links are better, since no validation document has known links; look at some, "
            "or write known links by hand and run `iconotext evaluate --compare`"
        )


def relation_summary(folder: Path) -> Iterator[str]:
    """Yield lines about a relation model: how well it predicts each relation, and its training data."""
    metrics = read_metrics(folder)
    for name, figures in metrics["relations"].items():
        yield (
            f"{name}: average precision {_precision(figures['average_precision'])} "
            f"(chance {figures['positive_rate']:.2f}), {figures['pairs']} pairs"
        )
    for name, figures in metrics["pictures"].get("held_out", {}).items():
        yield (
            f"{name}: with its picture {_precision(figures['text_and_image'])}, without "
            f"{_precision(figures['text'])}, {figures['pairs']} pairs: the picture "
            + ("counts" if metrics["pictures"]["kept"][name] else "does not count")
        )
    of = " and ".join(f"{metrics['splits'].get(name, 0)} of {name}" for name in ("validation", "test"))
    yield f"trained on {metrics['pairs']} labelled pairs, {of} splits"


def _precision(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def concept_shares(prepared: Prepared) -> dict[str, float]:
    """``regions``: share of regions with a concept; ``words``: share of words that are in a concept's name.

    Punctuation does not count as words. ``words`` is missing if sentences are not words.
    """
    shares: dict[str, float] = {}
    if prepared.regions is not None:
        shares["regions"] = float(np.mean(prepared.regions.concepts >= 0))
    if prepared.words is not None:
        words = load_vocabulary(prepared.folder / VOCABULARY).words
        names = {word for name in prepared.meta["concepts"] for word in words_of(name)}
        counts = np.bincount(prepared.words.ids, minlength=len(words))
        # Number 0 stands for all unknown words.
        counted = np.array([number == 0 or any(map(str.isalnum, word)) for number, word in enumerate(words)])
        bridged = np.array([word in names for word in words]) & counted
        shares["words"] = float(counts[bridged].sum() / max(counts[counted].sum(), 1))
    return shares


def describe_shares(shares: Mapping[str, float]) -> str:
    """The shares in words."""
    parts = [f"{100 * shares['regions']:.3g} % of the regions have a concept"]
    if "words" in shares:
        parts.append(f"{100 * shares['words']:.3g} % of the words of the sentences are words of a concept's name")
    return "; ".join(parts)


AS_TRAINED = (
    "Measured on the features as training stores them, in 16 bits. `iconotext evaluate` measures the model as it "
    "links, which computes projections in integers, and can differ in the first decimal."
)


def model_card(recipe: Recipe, prepared: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    """Write the model card in Markdown: training, data (``Prepared.meta``), metrics, and how to use the model."""
    backbones = prepared["backbones"]
    measured = [metrics.get(split, {}) for split in ("validation", "test")]
    of_pairs = any("median_rank" in figures for figures in measured)
    known = of_pairs or any(figures.get("auc") is not None for figures in measured)
    lines = [
        f"# {inline_text(recipe.name)}",
        "",
        f"Links the images of documents to their sentences. Trained with iconotext, {_learned_from(recipe)}.",
        "",
        f"- Recipe: `recipe.toml` (follows {inline_text(recipe.follows)})",
        f"- Starts from: text {inline_text(backbones['text'])}, images {inline_text(backbones['image'])}"
        + (f", the model {inline_text(recipe.init)}" if recipe.init else ""),
        f"- Documents: {prepared['documents']} ({prepared['skipped']} without sentences or readable images left out)",
        *(f"- {inline_text(line)}" for line in _figures(metrics)),
    ]
    if metrics.get("relations"):
        names = ", ".join(map(inline_text, metrics["relations"]))
        lines.append(f"- Tells the relations {names} between a text and an image")
    nothing = "No gold links were known, so nothing says how good the links are but the validation loss."
    adding, linking = "    iconotext library add LIBRARY photos/ --model", "    iconotext link docs/ --model"
    command = f"{adding if of_pairs else linking} THIS_FOLDER"
    return "\n".join([*lines, "", AS_TRAINED if known else nothing, "", command, ""])


def _learned_from(recipe: Recipe) -> str:
    if recipe.similarity.kind != "labelled-pairs":
        return "without labelled links"
    share = recipe.training.labelled
    return "on the gold links of its training documents" + (f", of {100 * share:g} % of them" if share < 1 else "")
