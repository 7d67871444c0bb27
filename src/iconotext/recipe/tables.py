"""The tables that a setting can be, read off the classes of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

from iconotext.recipe.base import Settings

Tables = Sequence[type[Settings]]


class Place(NamedTuple):
    """Where something is wrong.

    Attributes:
        keys: From the whole recipe down.
        holder: The table that has the last key.
        kind: Which kind of table the holder is, where there are several.
        tables: The tables that may stand there, one for each kind; none where a plain value stands.
    """

    keys: tuple[str, ...]
    holder: type[Settings]
    kind: str | None
    tables: Tables


def tables_of(annotation: Any) -> Tables:
    """The table that a setting of this type is, or the tables of which it is one; none for plain values."""
    return [each for each in (annotation, *get_args(annotation)) if _is_table(each)]


def kind_of(table: type[Settings]) -> str:
    """What ``kind`` is in a table that is one of several."""
    return str(get_args(table.model_fields["kind"].annotation)[0])


def setting_type(root: type[Settings], keys: Sequence[str]) -> Any:
    """The type of a setting; ``Any`` where there is no such setting, which validation will say."""
    annotation: Any = root
    for key in keys:
        annotation = next(
            (table.model_fields[key].annotation for table in tables_of(annotation) if key in table.model_fields), Any
        )
    return annotation


def place_of(root: type[Settings], location: Sequence[int | str]) -> Place:
    """The place that pydantic means, without the kinds of tables and of values that it also names."""
    keys: list[str] = []
    holder, kind, tables = root, None, tables_of(root)
    for part in location:
        if len(tables) > 1:
            kind = str(part)
            tables = [table for table in tables if kind_of(table) == kind]
        elif tables:
            holder = tables[0]
            keys.append(str(part))
            tables = tables_of(holder.model_fields[str(part)].annotation) if part in holder.model_fields else []
    return Place(tuple(keys), holder, kind, tables)


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Settings)
