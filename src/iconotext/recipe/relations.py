"""What the training of a relation model is: the table ``[relations]`` of a recipe, and how such a recipe is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from iconotext.errors import SettingError
from iconotext.recipe.settings import Settings
from iconotext.recipe.toml import shipped_recipes
from iconotext.recipe.wrong_value import wrong_value

TABLE = "relations"


class RelationSettings(Settings):
    """How the relation model is trained."""

    seed: int = Field(0, ge=0)
    """Everything drawn at random follows from it."""

    members: int = Field(3, ge=1)
    """Networks that are trained from different starts and averaged."""

    hidden: int = Field(128, ge=1)
    """Hidden units of a network."""

    epochs: int = Field(12, ge=1)
    """Passes over the texts."""

    batch: int = Field(128, ge=1)
    """Texts in a step."""

    learning_rate: float = Field(1e-3, gt=0)
    """Of AdamW; it falls linearly to 0."""

    weight_decay: float = Field(0.1, ge=0)
    """Of AdamW."""

    input_dropout: float = Field(0.2, ge=0, lt=1)
    """Share of the inputs that are left out in a step."""

    dropout: float = Field(0.5, ge=0, lt=1)
    """Share of the hidden units that are left out in a step."""

    buckets: int = Field(32_768, ge=1)
    """Numbers that words and runs of words are hashed to."""

    least_texts: int = Field(2, ge=1)
    """Texts that must have a run of words, or it is not looked at."""

    word_strength: float = Field(3.0, gt=0)
    """How free the weights of words are: C of their logistic regression."""

    word_weight: float = Field(0.7, ge=0)
    """What their log-odds count beside the networks'."""

    splits: tuple[Literal["train", "validation", "test"], ...] = Field(("train", "validation", "test"), min_length=1)
    """Splits whose documents are trained on; documents of no split always are. By default all of them: published labels
    are few, and the figures come from folds that each pair's judge has not seen. A model that will be compared on a
    test split must leave that split out."""

    folds: int = Field(5, ge=2)
    """Parts for calibration: each is judged by a model that did not see it, nor its pictures and texts elsewhere."""

    picture_labels: int = Field(200, ge=2)
    """Labelled pictures from which on what a picture adds is learned from labels; with fewer, from what the text model
    says of the texts that people wrote about pictures."""

    picture_strength: float = Field(1e-3, gt=0)
    """How free the weights of labelled pictures' features are: C of their logistic regression, on features of standard
    deviation 1."""

    picture_weight: float = Field(0.5, ge=0, le=1)
    """What an offset learned from texts counts: the text beside a picture says part of the same already."""

    picture_correlation: float = Field(0.2, ge=0, le=1)
    """Least correlation, on pictures that were held out, between offset and texts; below it the offset is 0."""

    picture_silent: tuple[str, ...] = ("Irrelevant",)
    """Relations on which a picture has no say without labels: texts that people wrote about a picture all belong to
    it."""


class RelationRecipe(Settings):
    """A recipe of a relation model."""

    name: str
    """Of the model."""

    relations: RelationSettings = RelationSettings()
    """The one table."""


def is_relation_recipe(path: Path | str) -> bool:
    """Whether a recipe, a file or the name of one that ships, trains a relation model."""
    file = shipped_recipes().get(str(path), Path(path))
    try:
        return TABLE in tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False  # reading it as any other recipe says what is wrong


def load_relation_recipe(path: Path | str, overrides: Sequence[str] = ()) -> RelationRecipe:
    """Read a recipe of a relation model.

    Args:
        path: A TOML file, or the name of one that ships.
        overrides: ``relations.key=value``; the value is TOML, or a bare word.

    Raises:
        SettingError: The file is missing or no TOML, or a key or value is wrong; names the key, and file or override.
    """
    file = shipped_recipes().get(str(path), Path(path))
    try:
        values: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{file}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{file}: not TOML: {error}") from error
    values.setdefault("name", file.stem)
    origin: dict[str, str] = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        *tables, last = key.strip().split(".")
        if not equals or tables not in ([], [TABLE]) or not last:
            raise SettingError(f"{override}: give relations.key=value, such as relations.members=8")
        table = values.setdefault(TABLE, {}) if tables else values
        if not isinstance(table, dict):
            raise SettingError(f"{file}: {_NO_TABLE}, not {table!r}")
        try:
            table[last] = tomllib.loads(f"value = {text.strip()}")["value"]
        except tomllib.TOMLDecodeError:
            table[last] = text.strip()
        origin[key.strip()] = f"{override}"
    if isinstance(values.get(TABLE), dict):  # TOML has no tuples
        values[TABLE] = {key: tuple(each) if isinstance(each, list) else each for key, each in values[TABLE].items()}
    try:
        return RelationRecipe.model_validate(values)
    except ValidationError as error:
        problems = [
            f"{origin.get('.'.join(map(str, each['loc'][:2])), file)}: {_explain(each)}" for each in error.errors()
        ]
        raise SettingError("; ".join(problems)) from error


_NO_TABLE = f"{TABLE}: a table is needed"


def _explain(problem: Mapping[str, Any]) -> str:
    key = ".".join(map(str, problem["loc"])) or "recipe"
    given = problem["input"]
    if problem["type"] == "tuple_type":
        return f'{key}: a list is needed, such as ["{given}"], not {given!r}'
    if problem["type"] == "model_type":
        return f"{_NO_TABLE}, not {given!r}"
    if problem["type"] in ("extra_forbidden", "missing"):
        return f"{key}: {problem['msg'][0].lower()}{problem['msg'][1:]}"
    return f"{key}: {wrong_value(problem)}"


def dump_relation_recipe(recipe: RelationRecipe) -> str:
    """The recipe as TOML, with every setting."""
    import tomli_w

    return tomli_w.dumps(recipe.model_dump(mode="json"))
