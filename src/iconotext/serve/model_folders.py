"""Reads a folder of models: for each its recipe, progress of training, figures, and problems."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from iconotext.embed.folder import METRICS, RECIPE, WEIGHTS
from iconotext.errors import IconotextError
from iconotext.papers.analyses.curves import Curve, read_log
from iconotext.plain_text import readable, shortened
from iconotext.recipe import load_recipe
from iconotext.recipe.relation_recipe import TABLE
from iconotext.recipe.toml import read_toml
from iconotext.serve.followed import File, files_now
from iconotext.train.checkpoint import CHECKPOINT
from iconotext.train.log import LOG
from iconotext.train.summary import notes, relation_summary

if TYPE_CHECKING:
    from iconotext.recipe import Recipe

MARKS = (RECIPE, WEIGHTS, METRICS, LOG, CHECKPOINT)
"""A folder without any of these files has no model."""

CURVES = ("train_loss", "validation_loss", "no_information", "validation_auc")

WEIGHTS_OF = {
    "cross_document": "cross-document",
    "intra_document": "within documents",
    "sub_document": "parts of documents",
    "order": "order",
    "posterior": "other evidence",
    "coherence": "relations",
}
"""Names of the objectives on the page."""


class Figures(BaseModel):
    """The figures of a split that the pages use."""

    documents: int
    undefined: int
    auc: float | None
    p1: float | None = Field(alias="p@1")
    p5: float | None = Field(alias="p@5")
    intervals: dict[str, tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model, as described by its folder.

    Attributes:
        state: ``trained``; ``training``, which may have been interrupted; ``relations``, a relation model, which does
            not link; ``broken``.
        updated: Time of the last change in the folder, in seconds since 1970.
        recipe: None for a relation model, or if it cannot be read.
        metrics: As in ``metrics.json``; empty before training ends.
        notes: What users of the model should know, a sentence each.
        curves: The log of training; None if it cannot be read, then ``no_curves`` says why.
    """

    name: str
    path: Path
    state: Literal["trained", "training", "relations", "broken"]
    updated: float
    problem: str | None = None
    recipe: Recipe | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    curves: Curve | None = None
    no_curves: str | None = None

    @property
    def collapsed(self) -> bool:
        """Whether training collapsed, or learned nothing."""
        return "collapse" in self.metrics


def model_paths(root: Path) -> Iterator[Path]:
    """The folders of models in a folder, by name. Links that lead out of it are left out."""
    inside = root.resolve()
    for path in sorted(root.iterdir()):
        hidden = path.name.startswith(".") or not path.is_dir() or not path.resolve().is_relative_to(inside)
        if not hidden and any((path / mark).exists() for mark in MARKS):
            yield path


def model_folders(root: Path) -> Iterator[ModelFolder]:
    """The models in a folder, by name."""
    return map(read_model_folder, model_paths(root))


def read_model_folder(path: Path) -> ModelFolder:
    """Read a model's folder; problems are recorded, not raised. It is read again only when one of its files changes."""
    return _read(path, files_now(str(path / mark) for mark in MARKS))


@lru_cache(500)
def _read(path: Path, files: tuple[File, ...]) -> ModelFolder:
    updated = max(file.changed or 0 for file in files) / 1e9
    try:
        if TABLE in read_toml(path / RECIPE):
            return ModelFolder(path.name, path, "relations", updated, notes=tuple(relation_summary(path)))
        recipe = load_recipe(path / RECIPE)
        ended = (path / METRICS).exists()
        if ended and not (path / WEIGHTS).is_file():
            raise IconotextError(f"{WEIGHTS} is missing")
        metrics = json.loads((path / METRICS).read_text(encoding="utf-8")) if ended else {}
        said = tuple(notes(metrics)) if ended else ()
        if ended:
            _check(metrics)
    except (IconotextError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        first = str(error).splitlines()[0] if isinstance(error, IconotextError) else f"{METRICS} is damaged: {error!r}"
        why = shortened(readable(first.replace(f"{path}/", "")), 300)
        return ModelFolder(path.name, path, "broken", updated, problem=why)
    curves = no_curves = None
    try:
        curves = read_log(path, CURVES)
    except IconotextError as error:
        no_curves = str(error).replace(f"{path}/", "")
    state: Literal["trained", "training"] = "trained" if ended else "training"
    return ModelFolder(path.name, path, state, updated, None, recipe, metrics, said, curves, no_curves)


def _check(metrics: Mapping[str, Any]) -> None:
    """Raise if figures are not in the form that training writes."""
    _ = int(metrics["best_epoch"]), int(metrics["epochs"])
    for split in ("validation", "test"):
        if "auc" in metrics.get(split, {}):
            Figures.model_validate(metrics[split])


def objective_of(recipe: Recipe) -> str:
    """A line that says what a recipe minimises."""
    values = recipe.objective.model_dump()
    terms = [
        f"{words}{f' × {values[name]:g}' * (values[name] != 1)}" for name, words in WEIGHTS_OF.items() if values[name]
    ]
    hinge = f", {recipe.objective.negatives} negatives" if recipe.objective.kind == "hinge" else ""
    return f"{' + '.join(terms)}; {recipe.objective.kind}{hinge}; {recipe.similarity.kind}"
