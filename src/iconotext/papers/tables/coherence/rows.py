"""The rows of the tables of Alikhani 2021, and the recipe of each."""

from __future__ import annotations

from collections.abc import Sequence

from iconotext.errors import SettingError
from iconotext.papers.tables.rows import Row, given_overrides, split_override
from iconotext.recipe import load_recipe
from iconotext.relations import CITE, CLUE, short_name

_VARIANTS = {"Base": "base", "CMCA": "cmca", "CMCM-NoAttn": "cmcm-noattn", "CMCM": "cmcm"}
_SHOWN = {"alikhani2021/7": ("cmca", "cmcm"), "alikhani2021/8": ("cmcm-noattn", "cmcm", "cmcm-c")}
"""Recipes that a table needs, where it does not need all of them."""

OWN_KEYS = ("name", "text.attention", "objective.coherence", "objective.relations")
"""What the rows differ in."""


def coherence_rows(table: str, relations: Sequence[str], overrides: Sequence[str] = ()) -> tuple[Row, ...]:
    """The rows of a table.

    Args:
        table: One of ``OF_RELATIONS``.
        relations: What the corpus has labels of; each gives a row CMCM_c.
        overrides: ``key=value`` for the recipes of all rows, ``row:key=value`` for some.

    Raises:
        SettingError: An override is wrong, or is for what the rows differ in.
    """
    for override in overrides:
        row, key = split_override(override)
        if key == "name" or (row is None and key in OWN_KEYS):
            raise SettingError(f"{key}: each row of table {table} has its own, which is what the table compares")
    wanted = _SHOWN.get(table)
    rows = [
        _row(name, recipe, f"alikhani2021/{recipe}", overrides)
        for name, recipe in _VARIANTS.items()
        if wanted is None or recipe in wanted
    ]
    if wanted is None or "cmcm-c" in wanted:
        for relation in relations:
            one = f'objective.relations=["{relation}"]'
            rows.append(_row(f"CMCM {relation}", f"cmcm-{_file_name(relation)}", "alikhani2021/cmcm-c", overrides, one))
    return tuple(rows)


def data_set(relations: Sequence[str]) -> str | None:
    """The paper's data set that a corpus is labelled like; None if like none or both of them."""
    cite, clue = set(relations) & set(CITE), set(relations) & set(CLUE)
    return None if bool(cite) == bool(clue) else "CITE++" if cite else "Clue"


def _file_name(relation: str) -> str:
    """What a relation is called in keys and file names."""
    return "".join(c if c.isalnum() else "-" for c in short_name(relation).lower())


def _row(name: str, key: str, recipe: str, overrides: Sequence[str], *own: str) -> Row:
    given = [f"{setting}={value}" for setting, value in given_overrides(overrides, key).items()]
    return Row(name, key, load_recipe(recipe, [f"name={key}", *own, *given]))
