"""What the server tells programs of models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from iconotext.serve.evaluations import Measuring
from iconotext.serve.model_folders import ModelFolder, objective_of
from iconotext.serve.schemas import Described


class ModelOut(Described):
    """A model and how far its training is."""

    name: str
    state: Literal["trained", "training", "relations", "broken"]
    problem: str | None
    updated: float = Field(description="When something was written in its folder last, in seconds since 1970.")
    recipe: str | None
    objective: str | None
    epochs: list[int] = Field(description="Epochs that were logged.")
    curves: dict[str, list[float | None]] = Field(description="By column of the log a number for each of them.")
    figures: dict[str, dict[str, float | None]] = Field(description="By split AUC, p@1 and p@5, from 0 to 1.")
    notes: list[str] = Field(description="What whoever uses the model should know.")
    collapsed: bool = Field(description="Whether training died, or learned nothing.")

    @classmethod
    def of(cls, model: ModelFolder) -> ModelOut:
        """What there is to say of a folder."""
        curves = model.curves.values if model.curves else {}
        splits = {name: model.metrics[name] for name in ("validation", "test") if "auc" in model.metrics.get(name, {})}
        return cls(
            name=model.name,
            state=model.state,
            problem=model.problem,
            updated=model.updated,
            recipe=model.recipe and model.recipe.name,
            objective=model.recipe and objective_of(model.recipe),
            epochs=list(model.curves.epochs) if model.curves else [],
            curves={name: [None if math.isnan(v) else v for v in values] for name, values in curves.items()},
            figures={name: {each: found[each] for each in ("auc", "p@1", "p@5")} for name, found in splits.items()},
            notes=list(model.notes),
            collapsed=model.collapsed,
        )


class DocumentScore(Described):
    """How well the pictures of a document are linked; null where nobody knows its links."""

    title: str
    auc: float | None
    p1: float | None


class EvaluationOut(Described):
    """How well a model links the documents of the corpus, and how far measuring that is."""

    state: Literal["none", "measuring", "done", "failed"]
    problem: str | None = None
    done: int = 0
    of: int = Field(0, description="Documents; 0 while nobody knows.")
    split: str | None = None
    figures: dict[str, float | None] = Field({}, description="AUC, p@1, p@5 and image@1, from 0 to 1.")
    documents: list[DocumentScore] = Field([], description="In the order of the corpus.")

    @classmethod
    def of_model(cls, kept: Mapping[str, Any] | None, now: Measuring | None) -> EvaluationOut:
        """What was measured, or how far it is."""
        if kept is not None:
            rows = [DocumentScore(title=row["title"], auc=row["auc"], p1=row["p1"]) for row in kept["rows"]]
            figures = {name: kept[name] for name in ("auc", "p@1", "p@5", "image@1")}
            return cls(state="done", done=len(rows), of=len(rows), split=kept["split"], figures=figures, documents=rows)
        if now is None:
            return cls(state="none")
        state: Literal["failed", "measuring"] = "measuring" if now.problem is None else "failed"
        return cls(state=state, problem=now.problem, done=len(now.scores), of=now.of)
