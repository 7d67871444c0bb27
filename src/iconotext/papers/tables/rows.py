"""The rows of the results tables of the papers, and the recipe of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from iconotext.errors import SettingError
from iconotext.features.regions.files import is_region_file
from iconotext.papers.published import NEGATIVES, PUBLISHED
from iconotext.papers.published.alikhani2021 import ALIKHANI
from iconotext.plain_text import did_you_mean, there_are
from iconotext.recipe import Recipe, load_recipe

RANDOM, DETECTION = "random", "object-detection"
"""Keys of the rows that nothing is trained for."""

TRANSFER, SHARES, BIAS = "li2021/4", "li2021/5", "li2021/bias"
"""Comparisons that are more than a table of rows."""

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

# Li 2021: published name of a row to its recipe; without one its key is the recipe's name.
_LI = {
    "li2021/2": {"NoStruct": "nostruct", "MulLink": "mullink", "Ours": "transformer"},
    "li2021/3": {
        "1 Ours, C+I+D": "transformer",
        "2 w/o Concept, C+I+D": "without-concepts",
        "3 w/o T, C+I+D": "without-transformer",
        "4 w/o T&Concept, C+I+D": "without-both",
        "5 GRU+CNN, C+I+D": "gru-cnn",
        "6 Ours, C+I": "cross-intra",
        "7 Ours, C+D": "cross-sub",
        "8 Ours, I+D": "intra-sub",
        "9 Ours, C": "cross",
    },
    TRANSFER: {"1 Transfer": "supervised-transformer", "2 Unsupervised": "transformer"},
    SHARES: {
        **{f"Supervised, {share} %": "supervised" for share in (20, 40, 60, 80, 100)},
        "MulLink": "mullink",
        "Ours": "transformer",
    },
    BIAS: {"MulLink": "mullink", "Ours": "transformer"},
}

OF_RELATIONS = tuple(name for name in ALIKHANI if name != "alikhani2021/6")
"""Tables of Alikhani 2021, whose figures are of another kind; see ``coherence``. Table 6 is people's."""

OWN_KEYS = ("name", "similarity.kind", "similarity.k", "objective.negatives", "objective.b")
"""What the rows of a table of Hessel 2019 differ in, so that it cannot be set for all of them."""

LI_OWN_KEYS = (
    *("name", "text.kind", "image.kind", "similarity.kind", "objective.cross_document", "objective.intra_document"),
    *("objective.sub_document", "training.labelled", "image.layers", "image.concepts"),
)
"""The same for Li 2021."""

OF_REGIONS = ("image.max_regions", "image.heads", "training.max_regions")
"""Settings of encoders that read regions, and so is ``features.image`` where it names a file of regions; given for all
rows, they are for those that read any."""

OF_TRANSFORMERS = ("text.layers", "text.heads")
"""The same of sentence encoders that are Transformers."""

MEAN_EPOCHS = "objective.mean_epochs"
"""A setting for hard negatives; rows that take the mean of the negatives in all epochs do without it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        name: As published.
        key: For files and the command line.
        recipe: None where nothing is trained.
        share: Of the labelled training documents that are used, 0 to 1; None where that is not what is compared.
        transferred: Whether the model is trained on another corpus, and only applied to the table's.
    """

    name: str
    key: str
    recipe: Recipe | None
    share: float | None = None
    transferred: bool = False


def table_name(table: str) -> str:
    """The one name of a table; those of Hessel 2019 may be written with their paper, too.

    Raises:
        SettingError: There is no such table.
    """
    name = table.removeprefix("hessel2019/")
    if name not in PUBLISHED or (name != table and "/" in name):
        known = (*PUBLISHED, *OF_RELATIONS)
        raise SettingError(f"table {table}: no such table{there_are(did_you_mean(table, known), known)}")
    return name


def table_rows(table: str, overrides: Sequence[str] = ()) -> tuple[Row, ...]:
    """All rows of a table, in the published order.

    Args:
        table: As ``table_name`` gives it.
        overrides: ``key=value`` for the recipes of all rows, ``row:key=value`` for those whose key is, or matches,
            ``row``.

    Raises:
        SettingError: There is no such table; an override is wrong, contradicts a recipe, or is for what the rows of
            the table differ in.
    """
    if table not in PUBLISHED:
        raise SettingError(f"table {table}: there are {', '.join(PUBLISHED)}")
    own = LI_OWN_KEYS if table in _LI else OWN_KEYS
    for override in overrides:
        row, key = split_override(override)
        if key == "name" or (row is None and key in own):
            raise SettingError(f"{key}: each row of table {table} has its own, which is what the table compares")
    rows = _li_rows(table, overrides) if table in _LI else _hessel_rows(table, overrides)
    check_patterns(rows, overrides)
    return rows


def check_patterns(rows: Sequence[Row], overrides: Sequence[str]) -> None:
    """Raise where an override is for a row that there is not.

    Raises:
        SettingError: Names the rows that there are.
    """
    for override in overrides:
        pattern = split_override(override)[0]
        if pattern is not None and not any(row.recipe and fnmatchcase(row.key, pattern) for row in rows):
            trained = ", ".join(row.key for row in rows if row.recipe)
            raise SettingError(f"{override}: no row is called {pattern}; there are {trained}")


def chosen_rows(rows: Sequence[Row], only: Sequence[str]) -> tuple[Row, ...]:
    """The rows that are named, by key or as published; all of them where none is.

    Raises:
        SettingError: A name is no row of the table.
    """
    for name in only:
        if not any(_is(row, name) for row in rows):
            known = ", ".join(f"{row.key} ({row.name})" for row in rows)
            raise SettingError(f"only={name}: no such row; there are {known}")
    return tuple(row for row in rows if not only or any(_is(row, name) for name in only))


def reference_row(rows: Iterable[Row]) -> Row:
    """The row that the others are compared with: the paper's own model, else the first that is trained."""
    trained = [row for row in rows if row.recipe is not None]
    return next((row for row in trained if row.key == "transformer"), trained[0])


def _hessel_rows(table: str, overrides: Sequence[str]) -> tuple[Row, ...]:
    supplement = table.startswith("S")
    trained = _SUPPLEMENT if supplement else _PAPER
    rows = []
    for name in PUBLISHED[table]:
        if name in _BASELINES:
            rows.append(Row(name, _BASELINES[name], None))
            continue
        recipe, negatives = trained[name]
        key = f"{recipe}-hard" if supplement and negatives == "hardest" else recipe
        given = given_overrides(overrides, key)
        own = {"name": key, "objective.negatives": negatives, "objective.b": str(NEGATIVES[table])}
        own["training.batch"] = str(NEGATIVES[table] + 1)
        if table in _ORGANIC:
            own["text.max_tokens"] = str(_ORGANIC_TOKENS)
        settings = [f"{setting}={value}" for setting, value in own.items() if setting not in given]
        settings += [f"{setting}={value}" for setting, value in given.items()
                     if negatives == "hardest" or setting != MEAN_EPOCHS]  # fmt: skip
        rows.append(Row(name, key, load_recipe(f"hessel2019/{recipe}", settings)))
    return tuple(rows)


def _li_rows(table: str, overrides: Sequence[str]) -> tuple[Row, ...]:
    rows = []
    for name in PUBLISHED[table]:
        if name in _BASELINES:
            rows.append(Row(name, _BASELINES[name], None))
            continue
        recipe = _LI[table][name]
        share = int(name.removeprefix("Supervised, ").removesuffix(" %")) if recipe == "supervised" else None
        key = recipe if share is None else f"{recipe}-{share}"
        given = given_overrides(overrides, key)
        given = {key: value for key, value in given.items() if _fits(load_recipe(f"li2021/{recipe}"), key, value)}
        settings = [f"name={key}"] + ([] if share is None else [f"training.labelled={share / 100}"])
        settings += [f"{setting}={value}" for setting, value in given.items()]
        transferred = table == TRANSFER and recipe == "supervised-transformer"
        of_all = None if share is None else share / 100
        rows.append(Row(name, key, load_recipe(f"li2021/{recipe}", settings), of_all, transferred))
    return tuple(rows)


def _fits(recipe: Recipe, key: str, value: str) -> bool:
    """Whether a setting that may be for all rows is one for this recipe, too."""
    if key == MEAN_EPOCHS:
        return recipe.objective.negatives == "hardest"
    if key in OF_TRANSFORMERS:
        return recipe.text.kind == "transformer"
    file = key == "features.image" and is_region_file(Path(value.strip().strip("\"'")))
    return recipe.image.kind == "regions" or not (key in OF_REGIONS or file)


def given_overrides(overrides: Sequence[str], row: str) -> dict[str, str]:
    """Key to value of the overrides that a row has; those for it alone count before those for all."""
    found: dict[str, str] = {}
    for alone in (False, True):
        for override in overrides:
            pattern, key = split_override(override)
            if (pattern is not None) == alone and (pattern is None or fnmatchcase(row, pattern)):
                found[key] = override.partition("=")[2]
    return found


def split_override(override: str) -> tuple[str | None, str]:
    """The row that an override is for, None for all, and its key.

    Raises:
        SettingError: It has no value.
    """
    before, equals, _ = override.partition("=")
    if not equals:
        raise SettingError(f"{override}: give key=value, such as training.epochs=5")
    row, colon, key = before.rpartition(":")
    return (row.strip() if colon else None), key.strip()


def _is(row: Row, name: str) -> bool:
    return name.strip().casefold() in (row.key, row.name.casefold())
