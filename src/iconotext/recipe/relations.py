"""Recipes of relation models, with their table ``[relations]``: ``load_relation_recipe`` reads one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from iconotext.errors import SettingError
from iconotext.recipe.settings import Settings
from iconotext.recipe.toml import read_recipe, read_toml, shipped_recipes


class RelationSettings(Settings):
    """How the relation model is trained."""

    seed: int = Field(0, ge=0)
    """Seed of all random numbers."""

    layer_strength: float = Field(1e-3, gt=0)
    """How free the weights of the sentence encoder's layers are: C of their logistic regression, on numbers of standard
    deviation 1."""

    buckets: int = Field(32_768, ge=1)
    """Numbers that words and runs of words are hashed to."""

    word_strength: float = Field(3.0, gt=0)
    """How free the weights of words are: C of their logistic regression."""

    splits: list[Literal["train", "validation", "test"]] = Field(["train", "validation", "test"], min_length=1)
    """Splits whose documents are trained on; documents of no split always are. By default all of them: published labels
    are few, and the figures come from folds that each pair's judge has not seen. A model that will be compared on a
    test split must leave that split out."""

    folds: int = Field(5, ge=2)
    """Parts for calibration: each is judged by a model that did not see it, nor its pictures and texts elsewhere."""

    picture_labels: int = Field(200, ge=2)
    """With at least so many labelled pictures, the contribution of a picture is learned from the labels; with fewer,
    from the text model's judgements of texts that people wrote about pictures."""

    picture_silent: list[str] = Field(default_factory=lambda: ["Irrelevant"])
    """Relations to which a picture contributes nothing without labels: texts that people wrote about a picture all
    belong to it."""


class RelationRecipe(Settings):
    """A recipe of a relation model."""

    name: str
    """Name of the model."""

    relations: RelationSettings = RelationSettings()
    """The only table."""


def is_relation_recipe(path: Path | str) -> bool:
    """Whether a recipe (a file, or the name of one in the package) trains a relation model."""
    try:
        return "relations" in read_toml(shipped_recipes().get(str(path), Path(path)))
    except SettingError:
        return False  # reading it as any other recipe says what is wrong


def load_relation_recipe(path: Path | str, overrides: Sequence[str] = ()) -> RelationRecipe:
    """Read a recipe of a relation model; see ``read_recipe``."""
    return read_recipe(RelationRecipe, path, overrides)
