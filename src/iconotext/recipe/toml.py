"""Reads recipes from TOML files, with overrides and explained errors, and writes them with every setting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from iconotext.errors import SettingError
from iconotext.plain_text import did_you_mean, there_are
from iconotext.recipe.recipe import Recipe, RelationRecipe
from iconotext.recipe.settings import Settings
from iconotext.system.strict_json import parse_toml

PLAIN = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
    "a valid string": "text",
    "a valid list": "a list",
    "a valid tuple": "a list",
}
"""Plain names for pydantic's names of types of values."""

_KIND = re.compile(rf"({'|'.join(PLAIN)})(, .*)?$")

AnySettings = TypeVar("AnySettings", bound=BaseModel)


def make_settings(
    kind: type[AnySettings], values: Mapping[str, object], labels: Mapping[str, str] | None = None
) -> AnySettings:
    """Make settings of the values that are given.

    Args:
        kind: The class of settings.
        values: Values by field name; None if not given.
        labels: Names in messages, such as ``--min-side``, by field name; default: the field name.

    Raises:
        SettingError: A value is out of range or of the wrong kind; names the setting and the allowed values.
    """
    try:
        return kind.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        where = f"{(labels or {}).get(name, name)}: " if name else ""
        raise SettingError(f"{where}{wrong_value(first)}") from error


def wrong_value(problem: Mapping[str, Any]) -> str:
    """Describe the allowed values, given an entry of pydantic's ``errors()``, with the most similar one."""
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    if problem["type"] == "value_error":
        return message
    message = _KIND.sub(lambda match: PLAIN[match[1]], message)
    value = problem["input"]
    near = ""
    if problem["type"] == "literal_error":
        near = did_you_mean(str(value), re.findall("'([^']*)'", problem["ctx"]["expected"]))
    return f"{message[0].lower() + message[1:]}, not {value!r}{near}"


def tables_of(annotation: Any) -> list[type[Settings]]:
    """Return the table of a setting's type, or the tables of which it is one; empty for plain values."""
    return [
        item for item in (annotation, *get_args(annotation)) if isinstance(item, type) and issubclass(item, Settings)
    ]


def kind_of(table: type[Settings]) -> str:
    """Return the ``kind`` of a table that is one of several."""
    return str(get_args(table.model_fields["kind"].annotation)[0])


def setting_type(root: type[Settings], keys: Sequence[str]) -> Any:
    """Return the type of a setting; ``Any`` for an unknown one, which validation will report."""
    annotation: Any = root
    for key in keys:
        annotation = next(
            (table.model_fields[key].annotation for table in tables_of(annotation) if key in table.model_fields), Any
        )
    return annotation


Kind = TypeVar("Kind", bound=Settings)


def load_recipe(path: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe; see ``read_recipe``."""
    return read_recipe(Recipe, path, overrides)


def read_recipe(kind: type[Kind], path: Path | str, overrides: Sequence[str]) -> Kind:
    """Read a recipe as a ``kind`` of recipe.

    Args:
        kind: The class of recipe.
        path: A TOML file, or the name of a recipe in the package (``default``, ``hessel2019/dense``; see
            ``shipped_recipes``).
        overrides: ``key=value`` with a dotted key, such as ``training.epochs=5``; the value is TOML, or a bare word.
            ``none`` removes a key that may be missing, such as ``objective.b``. Another ``kind`` of encoder removes
            the file's settings that this kind does not have.

    Raises:
        SettingError: The file is missing or not TOML, or a key or value is wrong; names file, key and the allowed
            values.
    """
    path = _find(path)
    values = read_toml(path)
    values.setdefault("name", path.stem)
    origin = {}
    # Kinds come first: they take away settings of the file, but none of the other overrides.
    split = [(*map(str.strip, override.partition("=")), override) for override in overrides]
    for key, equals, text, override in sorted(split, key=lambda item: not item[0].endswith(".kind")):
        if not equals or not key:
            raise SettingError(f"{override}: give key=value, such as training.epochs=5")
        keys = key.split(".")
        _put(values, keys, _value(text, setting_type(kind, keys)), override)
        if keys[-1] == "kind":
            _without_other_kinds(kind, values, keys[:-1])
        origin[key] = override
    return _validated(kind, values, str(path), origin)


def make_recipe(values: Mapping[str, Any], *, source: str) -> Recipe:
    """Make a recipe of nested values; ``SettingError`` if a key or value is wrong."""
    return _validated(Recipe, values, source, {})


def dump_recipe(recipe: Settings) -> str:
    """Write the resolved recipe as TOML: every setting, also defaults, except None, which TOML does not have."""
    import tomli_w

    return tomli_w.dumps(recipe.model_dump(mode="json", exclude_none=True))


def shipped_recipes() -> dict[str, Path]:
    """Return the files of the recipes in the package, by name."""
    inside = Path(__file__).parents[1] / "recipes"  # in a wheel
    folder = inside if inside.is_dir() else Path(__file__).parents[3] / "recipes"  # in a checkout
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.toml"))}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; ``SettingError`` if it cannot be read, or is not TOML."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{path}: not TOML: {error}") from error
    except ValueError as error:
        raise SettingError(f"{path}: {error}") from error


def _find(path: Path | str) -> Path:
    if Path(path).is_file() or Path(path).suffix == ".toml":
        return Path(path)
    shipped = shipped_recipes()
    if str(path) not in shipped:
        near = did_you_mean(str(path), shipped)
        raise SettingError(f"{path}: no such file, and no recipe of this name ships{there_are(near, shipped)}")
    return shipped[str(path)]


def _value(text: str, annotation: Any) -> Any:
    """The value of an override for a setting of this type; None removes the setting."""
    if text == "none" and type(None) in get_args(annotation):
        return None
    try:
        value = parse_toml(f"value = {text}")["value"]
    except ValueError:
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


def _without_other_kinds(root: type[Settings], values: dict[str, Any], keys: Sequence[str]) -> None:
    """Remove settings that a table's kind does not have, if another kind has them."""
    tables = tables_of(setting_type(root, keys))
    for key in keys:
        values = values[key]
    matching = [table for table in tables if kind_of(table) == values["kind"]]
    if len(tables) > 1 and matching:
        all_keys = {key for table in tables for key in table.model_fields}
        for key in values.keys() & (all_keys - matching[0].model_fields.keys()):
            del values[key]


def _validated(kind: type[Kind], values: Mapping[str, Any], source: str, origin: Mapping[str, str]) -> Kind:
    """Validate a recipe; an error lists every problem, with the override or file that it comes from."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        problems = []
        for entry in error.errors():
            key, message = _explained(kind, entry)
            below = [override for name, override in origin.items() if name.startswith(f"{key}.")]
            where = origin.get(key) or (below[0] if below and entry["type"] == "extra_forbidden" else source)
            problems.append(f"{where}: {key or 'recipe'}: {message}")
        raise SettingError("; ".join(dict.fromkeys(problems))) from error


def _explained(root: type[Settings], problem: Mapping[str, Any]) -> tuple[str, str]:
    """Return the dotted key that an entry of pydantic's ``errors()`` is about, and what is wrong."""
    keys: list[str] = []
    holder, kind, tables = root, "", tables_of(root)
    for part in problem["loc"]:
        if len(tables) > 1:  # pydantic names the kind of a table between its key and that of the setting
            kind = str(part)
            tables = [table for table in tables if kind_of(table) == kind]
        elif tables:  # below a plain value, pydantic names its types
            holder = tables[0]
            keys.append(str(part))
            tables = tables_of(holder.model_fields[str(part)].annotation) if part in holder.model_fields else []
    key, value = ".".join(keys), problem["input"]
    match problem["type"]:
        case "extra_forbidden":
            near = did_you_mean(keys[-1], holder.model_fields).replace("mean ", f"mean {key.removesuffix(keys[-1])}")
            of_kind = f" for kind {kind}" if kind else ""
            return key, f"no such key{of_kind}{there_are(near, holder.model_fields)}"
        case "model_type" | "model_attributes_type":
            names = dict.fromkeys(name for table in tables for name in table.model_fields)
            return key, f"a table is needed, not {value!r}; its keys are {', '.join(names)}"
        case "union_tag_invalid":
            *most, last = map(repr, map(kind_of, tables))
            near = did_you_mean(str(value["kind"]), map(kind_of, tables))
            return f"{key}.kind", f"must be {', '.join(most)} or {last}, not {value['kind']!r}{near}"
        case "missing":
            return key, "is missing"
    return key, wrong_value(problem)


def is_relation_recipe(path: Path | str) -> bool:
    """Whether a recipe (a file, or the name of one in the package) trains a relation model."""
    try:
        return "relations" in read_toml(shipped_recipes().get(str(path), Path(path)))
    except SettingError:
        return False  # reading it as any other recipe says what is wrong


def load_relation_recipe(path: Path | str, overrides: Sequence[str] = ()) -> RelationRecipe:
    """Read a recipe of a relation model; see ``read_recipe``."""
    return read_recipe(RelationRecipe, path, overrides)
