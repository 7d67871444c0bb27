"""Summaries of a trained model's metrics in a few lines, and the detection of runs that learned nothing.

``model_summary`` and ``relation_summary`` describe a model. ``informed``, ``died`` and ``collapse_of`` judge a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.encoders.stored_model import VOCABULARY, read_metrics
from iconotext.errors import CollapseError
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.features.word_vectors import load_vocabulary, words_of
from iconotext.plain_text import counted
from iconotext.train.changes import PAGE, describe_gain

if TYPE_CHECKING:
    from iconotext.recipe import Recipe
    from iconotext.train.checkpoint import Progress
    from iconotext.train.log import Row
    from iconotext.train.prepared import Prepared

SAME = 1e-5
"""Largest share by which two losses may differ and still count as equal."""

LEAST_GAIN = 0.01
"""Share by which a loss must be below that of equal similarities; smaller gains may be chance."""


def informed(row: Row) -> bool:
    """Tell whether the validation loss of an epoch is below that of a model to which everything is equally similar."""
    loss, nothing = row["validation_loss"], row["no_information"]
    return loss is None or nothing is None or loss < nothing * (1 - SAME)


def died(row: Row) -> bool:
    """Tell whether an epoch shows both signs of a collapse; no run is known to have recovered.

    The signs are a validation loss equal to that of equal similarities, and no gradient in most steps.
    """
    loss, nothing = row["validation_loss"], row["no_information"]
    if loss is None or nothing is None:
        return False
    return abs(loss - nothing) <= nothing * SAME and (row["still"] or 0.0) > 0.5


def has_ended(progress: Progress, epochs: int) -> bool:
    """Tell whether training has ended."""
    return progress.epoch >= epochs or (bool(progress.history) and died(progress.history[-1]))


def wants_remedy(progress: Progress, recipe: Recipe) -> bool:
    """Tell whether a finished run has learned nothing, and its recipe has a remedy that was not tried."""
    tried = progress.collapsed is not None or not recipe.objective.remedy_epochs
    return not tried and has_ended(progress, recipe.training.epochs) and not _learned(progress.history)


def collapse_of(progress: Progress, recipe: Recipe) -> dict[str, Any] | None:
    """Return the entry in ``metrics.json`` for a run that collapsed: ``epoch``, ``learned``, ``why``; else None."""
    history = progress.history
    if not history or history[-1]["no_information"] is None:
        return None
    last, learned = history[-1], _learned(history)
    if learned and _learned([last]) and not died(last):
        return None
    epoch = progress.epoch if died(last) else None
    return {"epoch": epoch, "learned": learned, "why": _why(last, epoch, learned) + _advice(recipe, epoch)}


def raise_if_dead(folder: Path, metrics: dict[str, Any]) -> None:
    """Raise ``CollapseError`` for a model that collapsed before it had learned anything."""
    found = metrics.get("collapse")
    if found is not None and found["epoch"] is not None and not found["learned"]:
        raise CollapseError(f"{folder}: {found['why']}")


def _learned(history: Sequence[Row]) -> bool:
    """Tell whether in any epoch the training loss or the validation loss was better than that of equal similarities.

    If only the training loss was better, this is no success, but no collapse either: the model learned by heart, or
    learned against the mean of the negatives while validation uses the hardest ones.
    """
    return any(
        loss is None or nothing is None or loss < nothing * (1 - LEAST_GAIN)
        for row in history
        for loss, nothing in [(row[name], row["no_information"]) for name in ("train_loss", "validation_loss")]
    )


def _why(last: Row, epoch: int | None, learned: bool) -> str:
    nothing = f"{last['no_information']:.4g}, that of a model to which everything is alike"
    if epoch is not None:
        cosines = "" if last["positive"] else ", no cosine is positive"
        still = f"{100 * (last['still'] or 0):.0f} % of the steps have no gradient"
        kept = "; the model is that of an earlier epoch" if learned else ""
        return f"training collapsed in epoch {epoch}: the validation loss is {nothing}{cosines}, {still}{kept}"
    if learned:
        return f"training fell back: no loss of the last epoch is 1 % below {nothing}"
    return f"training never left its start: neither on its documents nor in validation was the loss 1 % below {nothing}"


def _advice(recipe: Recipe, epoch: int | None) -> str:
    """Return advice on settings, without those that the recipe already has."""
    objective, similarity = recipe.objective, recipe.similarity
    advice = []
    if epoch is not None and similarity.kind == "assignment" and similarity.links == "at-most":
        advice.append('similarity.links = "exactly", which always has a gradient')
    if objective.kind == "hinge" and objective.negatives == "hardest" and not objective.remedy_epochs:
        advice.append("objective.remedy_epochs = 5, which begins such a run again with the mean of the negatives")
    return f". In another folder may help: {'; '.join(advice)}" if advice else ""


FEW = 20
"""Number of validation images below which differences between epochs are chance."""

LITTLE = 0.01
"""Share of the validation loss below which differences may be chance."""


def model_summary(folder: Path) -> Iterator[str]:
    """Yield lines about a linking model: its best epoch, then its metrics on each split that it was not trained on."""
    metrics = read_metrics(folder)
    chosen_by = metrics.get("validation_median_rank")
    yield (
        f"{folder}: best epoch {metrics['best_epoch']} of {metrics['epochs']}, "
        f"validation loss {metrics['validation_loss']:.4f}"
        + ("" if chosen_by is None else f", median rank {chosen_by:.1f}, which chose it")
    )
    if "concepts" in metrics:
        yield describe_shares(metrics["concepts"])
    yield from notes(metrics)
    if (folder / PAGE).is_file():
        yield f"links before and after, side by side: {folder / PAGE}"
    for split in ("validation", "test"):
        found = metrics.get(split, {})
        if "median_rank" in found:
            recalls = ", ".join(f"R@{k} {100 * found[f'r@{k}']:.1f}" for k in (1, 5, 10))
            rank = f"median rank {found['median_rank']:.1f} of {found['pool']}"
            yield f"{split}: {rank}, {recalls} ({found['pairs']} pairs)"
            for name, value in found.get("average_precision", {}).items():
                yield f"  {name}: average precision {_precision(value)}"
        elif found.get("auc") is not None:
            figures = ", ".join(f"{LINK_METRICS[name].label} {100 * found[name]:.1f}" for name in ("auc", "p@1", "p@5"))
            yield f"{split}: {figures} ({found['documents'] - found['undefined']} documents with gold links)"


def notes(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield remarks from ``metrics.json``: links that changed, learning that failed, or too little data to judge."""
    if left := metrics.get("left_out"):
        pictures, documents = counted(left["images_left_out"], "picture"), counted(left["skipped"], "document")
        yield (
            f"left out: {pictures} that could not be used, {documents} without a sentence or a picture; documents that "
            f"lack some of their pictures: {left['lacking']:,}"
        )
    if "began_again_after" in metrics:
        yield (
            f"nothing was learned in {metrics['began_again_after']} epochs, so training began again with the mean of "
            "the negatives (objective.remedy_epochs)"
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
    known = "" if auc is None else f", AUC {100 * auc:.1f}"
    yield f"before training: validation loss {before['validation_loss']:.4f}{known}"
    if not metrics["best_epoch"]:
        yield f"no epoch was better than that (the last: {metrics['last_loss']:.4f}), so the model is the one it was"
    elif loss > (1 - LITTLE) * before["validation_loss"]:
        yield f"it is now less than {100 * LITTLE:g} % better: training changed little"
    changed = metrics.get("changed", {})
    if changed is None:
        yield (
            "links changed: cannot be counted, since features have no texts; link some of their documents with both "
            "models, or compare them by `iconotext evaluate`"
        )
    elif changed and changed["images"]:
        pictures = counted(changed["images"], "picture")
        if changed["picture"] or changed["all"]:
            yield (
                f"links changed: of {pictures}, {changed['picture']:,} have another best sentence by the picture "
                f"alone, {changed['all']:,} with all evidence"
            )
        else:
            yield f"links changed: none; of {pictures}, each has the same best sentence as before"
        if changed.get("held_out"):
            yield describe_gain(changed["held_out"])
        elif "held_out" in changed:  # models of earlier versions lack it
            yield (
                "not measured: whether the new links are better, since no document that was not trained on has known "
                "links; look at some of them, or write known links by hand and run `iconotext evaluate --compare`"
            )


def relation_summary(folder: Path) -> Iterator[str]:
    """Yield lines about a relation model: how well it predicts each relation, and its training data."""
    metrics = read_metrics(folder)
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
    if "splits" in metrics:  # older models lack it
        of = " and ".join(f"{metrics['splits'].get(name, 0)} of {name}" for name in ("validation", "test"))
        yield f"trained on {metrics['pairs']} labelled pairs, {of} splits"


def _precision(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def concept_shares(prepared: Prepared) -> dict[str, float]:
    """``regions``: share of regions with a concept; ``words``: share of words that are in a concept's name.

    Punctuation does not count as words. ``words`` is missing if sentences are not words.

    Args:
        prepared: A corpus with regions.
    """
    found: dict[str, float] = {}
    if prepared.regions is not None:
        found["regions"] = float(np.mean(prepared.regions.concepts >= 0))
    if prepared.words is not None:
        words = load_vocabulary(prepared.folder / VOCABULARY).words
        names = {word for name in prepared.meta["concepts"] for word in words_of(name)}
        counts = np.bincount(prepared.words.ids, minlength=len(words))
        letters = np.array([number == 0 or any(map(str.isalnum, word)) for number, word in enumerate(words)])
        bridged = np.array([word in names for word in words]) & letters
        found["words"] = float(counts[bridged].sum() / max(counts[letters].sum(), 1))
    return found


def describe_shares(shares: Mapping[str, float]) -> str:
    """The shares in words."""
    said = [f"{100 * shares['regions']:.3g} % of the regions have a concept"]
    if "words" in shares:
        said.append(f"{100 * shares['words']:.3g} % of the words of the sentences are words of a concept's name")
    return "; ".join(said)
