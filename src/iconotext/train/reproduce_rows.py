"""The rows of the results tables of Hessel 2019 and its supplement, and the recipe of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iconotext.errors import SettingError
from iconotext.evaluate.published import NEGATIVES, PUBLISHED
from iconotext.recipe import Recipe, load_recipe

RANDOM, DETECTION = "random", "object-detection"
"""Keys of the rows that nothing is trained for."""

# Published name of a row to its recipe and to which of the negatives count (similarity × k × mining).
_PAPER = {
    "NoStruct": ("nostruct", "mean"),
    "DC": ("dense", "hardest"),
    "TK": ("top-k", "hardest"),
    "TK + ½k": ("top-k-half", "hardest"),
    "AP": ("assignment", "hardest"),
    "AP + ½k": ("assignment-half", "hardest"),
}
_SUPPLEMENT = {
    "NoStruct": ("nostruct", "mean"),
    "NoStruct + hard": ("nostruct", "hardest"),
    "DC": ("dense", "mean"),
    "DC + hard": ("dense", "hardest"),
    "TK": ("top-k", "mean"),
    "TK + hard": ("top-k", "hardest"),
    "TK + hard + ½k": ("top-k-half", "hardest"),
    "AP": ("assignment", "mean"),
    "AP + hard": ("assignment", "hardest"),
    "AP + hard + ½k": ("assignment-half", "hardest"),
}
_BASELINES = {"Random": RANDOM, "Object detection": DETECTION}
_ORGANIC = ("3", "S3", "S4")
_ORGANIC_TOKENS = 50  # §5; 20 in the other tables

OWN_KEYS = ("name", "similarity.kind", "similarity.k", "objective.negatives", "objective.b")
"""What the rows of a table differ in, so that it cannot be set for all of them."""

MEAN_EPOCHS = "objective.mean_epochs"
"""A setting for hard negatives; rows that take the mean of the negatives in all epochs do without it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        name: As published.
        key: For files and the command line.
        recipe: None where nothing is trained.
    """

    name: str
    key: str
    recipe: Recipe | None


def table_rows(table: str, overrides: Sequence[str] = ()) -> tuple[Row, ...]:
    """All rows of a table, in the published order.

    Args:
        table: 2, 3, S1, S2, S3 or S4.
        overrides: ``key=value`` for the recipes of all rows.

    Raises:
        SettingError: There is no such table; an override is wrong, contradicts a recipe, or is for what the rows of
            the table differ in.
    """
    if table not in PUBLISHED:
        raise SettingError(f"table {table}: there are {', '.join(PUBLISHED)}")
    given = {_key(override) for override in overrides}
    for key in OWN_KEYS:
        if key in given:
            raise SettingError(f"--set {key}: each row of table {table} has its own, which is what the table compares")
    supplement = table.startswith("S")
    trained = _SUPPLEMENT if supplement else _PAPER
    rows = []
    for name in PUBLISHED[table]:
        if name in _BASELINES:
            rows.append(Row(name, _BASELINES[name], None))
            continue
        recipe, negatives = trained[name]
        key = f"{recipe}-hard" if supplement and negatives == "hardest" else recipe
        own = {"name": key, "objective.negatives": negatives, "objective.b": str(NEGATIVES[table])}
        own["training.batch"] = str(NEGATIVES[table] + 1)
        if table in _ORGANIC:
            own["text.max_tokens"] = str(_ORGANIC_TOKENS)
        settings = [f"{setting}={value}" for setting, value in own.items() if setting not in given]
        settings += [each for each in overrides if negatives == "hardest" or _key(each) != MEAN_EPOCHS]
        rows.append(Row(name, key, load_recipe(f"hessel2019/{recipe}", settings)))
    return tuple(rows)


def chosen_rows(rows: Sequence[Row], only: Sequence[str]) -> tuple[Row, ...]:
    """The rows that are named, by key or as published; all of them where none is.

    Raises:
        SettingError: A name is no row of the table.
    """
    for name in only:
        if not any(_is(row, name) for row in rows):
            known = ", ".join(f"{row.key} ({row.name})" for row in rows)
            raise SettingError(f"--only {name}: no such row; there are {known}")
    return tuple(row for row in rows if not only or any(_is(row, name) for name in only))


def _key(override: str) -> str:
    return override.partition("=")[0].strip()


def _is(row: Row, name: str) -> bool:
    return name.strip().casefold() in (row.key, row.name.casefold())
