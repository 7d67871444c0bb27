"""Detects runs that learned nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import CollapseError

if TYPE_CHECKING:
    from iconotext.recipe import Recipe
    from iconotext.train.checkpoint import Progress, Row

SAME = 1e-5
"""Largest share by which two losses may differ and still count as equal."""

LEAST_GAIN = 0.01
"""Share by which a loss must be below that of equal similarities; smaller gains may be chance."""

FEW_STEPS = 300
"""Steps in which a run need not learn anything: its failure says nothing about its settings."""


def informed(row: Row) -> bool:
    """Tell whether the validation loss of an epoch is below that of a model to which everything is equally similar."""
    loss, nothing = row["validation_loss"], row["no_information"]
    return loss is None or nothing is None or loss < nothing * (1 - SAME)


def died(row: Row) -> bool:
    """Tell whether an epoch shows both signs of a collapse; no run is known to have recovered.

    The signs are a validation loss equal to that of equal similarities, and no gradient in most steps.
    """
    # The loss alone is no sign: with hard negatives it may stay at 2 * margin for long before the model learns. Dropout
    # gives a dead model a gradient now and then; after the deaths that were seen, 0 to 47 % of the steps had one.
    loss, nothing = row["validation_loss"], row["no_information"]
    if loss is None or nothing is None:
        return False
    return abs(loss - nothing) <= nothing * SAME and (row["no_gradient"] or 0.0) > 0.5


def has_ended(progress: Progress, epochs: int) -> bool:
    """Tell whether training has ended."""
    return progress.epoch >= epochs or (bool(progress.history) and died(progress.history[-1]))


def wants_remedy(progress: Progress, recipe: Recipe) -> bool:
    """Tell whether a finished run has learned nothing, and its recipe has a remedy that was not tried."""
    untried = progress.collapsed is None and recipe.objective.remedy_epochs > 0
    return untried and has_ended(progress, recipe.training.epochs) and not _learned(progress.history)


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
    collapse = metrics.get("collapse")
    if collapse is not None and collapse["epoch"] is not None and not collapse["learned"]:
        raise CollapseError(f"{folder}: {collapse['why']}")


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
        cosines = "" if last["positive_cosines"] else ", no cosine is positive"
        share = f"{100 * (last['no_gradient'] or 0):.0f} % of the steps have no gradient"
        model = "; the model is that of an earlier epoch" if learned else ""
        return f"training collapsed in epoch {epoch}: the validation loss is {nothing}{cosines}, {share}{model}"
    if learned:
        return f"training fell back: no loss of the last epoch is 1 % below {nothing}"
    start = (
        "training never left its start" if (last["step"] or 0) >= FEW_STEPS else f"{last['step']:.0f} steps are too few"
    )
    return f"{start}: neither on its documents nor in validation was the loss 1 % below {nothing}"


def _advice(recipe: Recipe, epoch: int | None) -> str:
    """Return advice on settings, without those that the recipe already has."""
    objective, similarity = recipe.objective, recipe.similarity
    advice = []
    if epoch is not None and similarity.kind == "assignment" and similarity.links == "at-most":
        advice.append('similarity.links = "exactly", which always has a gradient')
    if objective.kind == "hinge" and objective.negatives == "hardest" and not objective.remedy_epochs:
        advice.append("objective.remedy_epochs = 5, which begins such a run again with the mean of the negatives")
    return f". In another folder may help: {'; '.join(advice)}" if advice else ""
