"""Recipes as TOML files: read with overrides, explained where they are wrong, written with every setting."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from iconotext.errors import SettingError
from iconotext.plain_text import did_you_mean, there_are
from iconotext.recipe.settings import Recipe
from iconotext.recipe.wrong_value import wrong_value


def load_recipe(path: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe.

    Args:
        path: A TOML file, or the name of one that ships (``default``, ``hessel2019/dense``; see ``shipped_recipes``).
        overrides: ``key=value`` with a dotted key, such as ``training.epochs=5``; the value is TOML, or a bare word.
            ``none`` takes a key away that may be missing, such as ``objective.b``.

    Raises:
        SettingError: The file is missing or no TOML, or a key or value is wrong; names file, key and what is allowed.
    """
    path = _find(path)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path}: not TOML: {error}") from error
    values.setdefault("name", path.stem)
    origin = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise SettingError(f"{override}: give key=value, such as training.epochs=5")
        keys = key.strip().split(".")
        _put(values, keys, _value(text.strip(), _annotation(keys)), override)
        origin[key.strip()] = f"{override}"
    return make_recipe(values, source=str(path), origin=origin)


def make_recipe(values: Mapping[str, Any], *, source: str, origin: Mapping[str, str] | None = None) -> Recipe:
    """A recipe from nested values.

    Args:
        values: As a TOML file gives them.
        source: What to call their place in a message.
        origin: Dotted keys that came from elsewhere, and from where.

    Raises:
        SettingError: A key or value is wrong.
    """
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        problems = []
        for each in error.errors():
            parts = [str(part) for part in each["loc"]][: _depth(each["loc"])]
            key = ".".join(parts)
            where = (origin or {}).get(key, source)
            problem = f"{where}: {key or 'recipe'}: {_explain(each, parts)}"
            if problem not in problems:
                problems.append(problem)
        raise SettingError("; ".join(problems)) from error


def dump_recipe(recipe: Recipe) -> str:
    """The resolved recipe as TOML: every setting, also those that were left at their defaults."""
    import tomli_w

    return tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True))


def shipped_recipes() -> dict[str, Path]:
    """The recipes that come with the program, by name."""
    folder = _recipes_folder()
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.toml"))}


def _recipes_folder() -> Path:
    inside = Path(__file__).parents[1] / "recipes"  # in a wheel
    return inside if inside.is_dir() else Path(__file__).parents[3] / "recipes"  # in a checkout


def _find(path: Path | str) -> Path:
    if Path(path).is_file() or Path(path).suffix == ".toml":
        return Path(path)
    shipped = shipped_recipes()
    if str(path) not in shipped:
        near = did_you_mean(str(path), shipped)
        raise SettingError(f"{path}: no such file, and no recipe of this name ships{there_are(near, shipped)}")
    return shipped[str(path)]


def _annotation(keys: Sequence[str]) -> Any:
    """The type of a setting; ``Any`` where there is no such setting, which validation will tell."""
    table: Any = Recipe
    for key in keys:
        if not (isinstance(table, type) and issubclass(table, BaseModel)) or key not in table.model_fields:
            return Any
        table = table.model_fields[key].annotation
    return table


def _value(text: str, annotation: Any) -> Any:
    """What a value on the command line means for a setting of that type; None takes the setting away."""
    allowed = get_args(annotation)
    if text == "none" and type(None) in allowed:
        return None
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    if isinstance(value, str) or _fits(value, annotation) or not _fits(text, annotation):
        return value
    return text  # 32 is the name of a precision, and a model may be called 2026


def _fits(value: Any, annotation: Any) -> bool:
    try:
        TypeAdapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


def _put(values: dict[str, Any], keys: Sequence[str], value: Any, override: str) -> None:
    for key in keys[:-1]:
        inner = values.setdefault(key, {})
        if not isinstance(inner, dict):
            raise SettingError(f"{override}: {key} is a value, not a table")
        values = inner
    if value is None:
        values.pop(keys[-1], None)
    else:
        values[keys[-1]] = value


def _depth(place: Sequence[int | str]) -> int:
    """How many parts of a place of pydantic's are keys; behind them it names the member of a union."""
    table: Any = Recipe
    for depth, key in enumerate(place):
        if not (isinstance(table, type) and issubclass(table, BaseModel)):
            return depth
        table = table.model_fields[str(key)].annotation if key in table.model_fields else None
    return len(place)


def _explain(problem: Mapping[str, Any], keys: Sequence[str]) -> str:
    if problem["type"] == "extra_forbidden":
        table = Recipe if len(keys) == 1 else _annotation(keys[:-1])
        above = "".join(f"{key}." for key in keys[:-1])
        near = did_you_mean(keys[-1], table.model_fields).replace("mean ", f"mean {above}")
        return f"no such key{there_are(near, table.model_fields)}"
    if problem["type"] == "model_type":
        return f"a table is needed, not {problem['input']!r}; its keys are {', '.join(_annotation(keys).model_fields)}"
    if problem["type"] == "missing":
        return "is missing"
    return wrong_value(problem)
