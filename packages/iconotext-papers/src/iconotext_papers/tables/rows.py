"""The rows of a table, and the recipe of each: the paper's settings, and the user's overrides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from iconotext.errors import SettingError
from iconotext.features.region_files import is_region_file
from iconotext.plain_text import did_you_mean, there_are
from iconotext.recipe import Recipe, load_recipe
from iconotext.recipe.encoders import BUNDLED, TEXT_ENCODERS, NetworkSettings
from iconotext.relations import short_name
from iconotext.train.checkpoint import flat
from iconotext_papers.published import TABLES, PublishedRow, PublishedTable, Statement

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared

T = TypeVar("T")

RANDOM, DETECTION = "random", "object-detection"
"""Keys of the rows without training."""

OF_REGIONS = ("image.max_regions", "image.heads", "training.max_regions")
"""Settings of encoders that read regions. ``features.image`` is one, too, if it names a file of regions."""

OF_FROZEN = ("features.image", "image.batch_norm", "image.rescale", "image.hidden")
"""Settings of encoders of frozen features; a network that is trained reads pixels instead."""

OF_TRANSFORMERS = ("text.layers", "text.heads")
"""Settings of sentence encoders that are Transformers."""

OF_HARD_NEGATIVES = ("objective.mean_epochs", "objective.remedy_epochs")
"""Settings for hard negatives; they do not apply to rows that use the mean of the negatives in all epochs."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        name: Name as published.
        key: Name in files and on the command line.
        recipe: The recipe; None for a row without training.
        share: Share of the labelled training documents that are used, 0 to 1; None if rows do not differ in it.
        transferred: Data set of the training corpus if it is not the table's own; else "".
        needed: Whether the table itself needs it; else it is a row of another table of the same models.
        plain: The recipe without the user's overrides.
        stated: The paper's statements about this row; for a row that the paper lacks, those about the table.
        extra: Whether the paper lacks it; then it is trained only if it is named.
        lost: Settings that make the row what it is, but that the user's sentence encoder does not have.
    """

    name: str
    key: str
    recipe: Recipe | None
    share: float | None = None
    transferred: str = ""
    needed: bool = True
    plain: Recipe | None = None
    stated: Mapping[str, Statement] = field(default_factory=dict)
    extra: bool = False
    lost: str = ""


def find_table(name: str) -> PublishedTable:
    """Find a table that can be reproduced, by its name with or without its paper; ``SettingError`` without one."""
    short = name.removeprefix("hessel2019/")
    if short not in TABLES or (short != name and "/" in short):
        raise SettingError(f"table {name}: no such table{there_are(did_you_mean(name, TABLES), TABLES)}")
    return TABLES[short]


def table_rows(
    table: PublishedTable,
    overrides: Sequence[str] = (),
    relations: Sequence[str] | None = None,
    dataset: str | None = None,
    extra: Sequence[str] = (),
) -> tuple[Row, ...]:
    """Return all rows in the folder of a table, in the published order: its own, and those that share its models.

    Args:
        overrides: ``key=value`` for the recipes of all rows, ``row:key=value`` for those whose key is, or matches,
            ``row``.
        relations: Relations that the corpus has labels of; None if they are not known yet, and then rows that stand for
            a relation are left out.
        dataset: Data set of the paper whose own settings apply; None for none.
        extra: Names of rows that the paper lacks and that are included nevertheless; others are left out.
    """
    for override in overrides:
        pattern, key = split_override(override)
        if key == "name" or (pattern is None and key in table.varied):
            raise SettingError(f"{key}: each row of table {table.name} has its own, which is what the table compares")
    chosen = [row for row in table.rows if not row.extra or any(_is(row, name) for name in extra)]
    rows = tuple(_row(row, table, overrides, dataset) for row in _expanded(chosen, relations))
    if relations is not None or not is_by_relation(table):
        _check_patterns(rows, overrides)
    return rows


def is_by_relation(table: PublishedTable) -> bool:
    """Tell whether the rows of a table depend on the relations of which the corpus has labels."""
    return any("{relation}" in row.name for row in table.rows)


def chosen_rows(rows: Sequence[Row], only: Sequence[str], all_rows: Sequence[PublishedRow] = ()) -> tuple[Row, ...]:
    """Return the named rows of the table itself, by key or as published; without names all that the paper has."""
    rows = [row for row in rows if row.needed]
    for name in only:
        if not any(_is(row, name) for row in rows):
            other_names = {row.key: row.name for row in all_rows if row.extra and row.needed}
            names = {row.key: row.name for row in rows} | other_names
            listing = ", ".join(f"{key} ({name})" for key, name in names.items())
            raise SettingError(f"only={name}: no such row; there are {listing}")
    chosen = tuple(row for row in rows if (any(_is(row, name) for name in only) if only else not row.extra))
    for row in chosen:
        if row.lost:
            raise SettingError(
                f"row {row.key} is about {row.lost}, which the sentence encoder that text.kind names does not have: it "
                "would be the same as another row; name the other rows with only=..."
            )
    return chosen


def split_override(override: str) -> tuple[str | None, str]:
    """Return the row that an override is for, None for all, and its key; ``SettingError`` if it has no value."""
    before, equals, _ = override.partition("=")
    if not equals:
        raise SettingError(f"{override}: give key=value, such as training.epochs=5")
    row, colon, key = before.rpartition(":")
    return (row.strip() if colon else None), key.strip()


def _expanded(rows: Iterable[PublishedRow], relations: Sequence[str] | None) -> Iterable[PublishedRow]:
    """Replace each row that stands for every relation by one row a relation."""
    for row in rows:
        if "{relation}" not in row.name:
            yield row
            continue
        for relation in relations or ():
            short = "".join(c if c.isalnum() else "-" for c in short_name(relation).lower())
            # In the text of JSON, so that a value may have the name anywhere, such as in a list.
            settings = json.dumps(dict(row.settings)).replace("{relation}", json.dumps(relation)[1:-1])
            yield replace(
                row,
                name=row.name.replace("{relation}", relation),
                key=row.key.replace("{short}", short),
                settings=json.loads(settings),
            )


def _row(row: PublishedRow, table: PublishedTable, overrides: Sequence[str], dataset: str | None) -> Row:
    if row.recipe is None:
        return Row(row.name, row.key, None, needed=row.needed)
    of_dataset = table.by_dataset.get(row.transferred or dataset or "", {}).items()
    by_dataset = _for_row(((*split_override(f"{key}="), value) for key, value in of_dataset), row.key)
    row_settings = {"name": row.key, **{key: _toml(value) for key, value in {**row.settings, **by_dataset}.items()}}
    changes = _for_row(((*split_override(override), override.partition("=")[2]) for override in overrides), row.key)
    plain = _loaded(row.recipe, row_settings)
    settings = row_settings | {key: value for key, value in changes.items() if _fits(plain, key, value, table)}
    lost = [key for key, value in row.settings.items() if row.of_table.get(key) != value and not _has(changes, key)]
    share = row.settings.get("training.labelled")
    # A setting of the table is left out where the user's sentence encoder has no such setting; one that the user gives
    # stays, so that the recipe's own error names it.
    recipe = _loaded(row.recipe, {k: value for k, value in settings.items() if k in changes or _has(changes, k)})
    stated_values = {**(row.of_table if row.extra else row.settings), **by_dataset}
    stated = {key: Statement(value, "") for key, value in stated_values.items()} | dict(row.stated)
    return Row(row.name, row.key, recipe, share, row.transferred, row.needed, plain, stated, row.extra, ", ".join(lost))


def _has(values: Mapping[str, str], key: str) -> bool:
    """Tell whether the sentence encoder that overrides name has a setting of the table: a projection cuts no words."""
    kind = TEXT_ENCODERS.get(values.get("text.kind", "").strip("\"'"))
    part, _, name = key.partition(".")
    return kind is None or part != "text" or name in kind.settings.model_fields


def _loaded(recipe: str, settings: Mapping[str, str]) -> Recipe:
    return load_recipe(recipe, [f"{key}={value}" for key, value in settings.items()])


def _toml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _for_row(settings: Iterable[tuple[str | None, str, T]], row: str) -> dict[str, T]:
    """Return the settings of a row by key; settings for it alone precede settings for all."""
    fitting = [setting for setting in settings if setting[0] is None or fnmatchcase(row, setting[0])]
    return {key: value for _, key, value in sorted(fitting, key=lambda setting: setting[0] is not None)}


def _fits(recipe: Recipe, key: str, value: str, table: PublishedTable) -> bool:
    """Tell whether a setting for all rows may apply to this recipe. A setting that fits no row is an error of each."""
    if key in OF_HARD_NEGATIVES:
        return recipe.objective.negatives == "hardest"
    if recipe.image.kind == "network" and key in OF_FROZEN:
        return False
    if not table.mixed:
        return True
    if key in OF_TRANSFORMERS:
        return recipe.text.kind == "transformer" and recipe.text.layers > 0
    file = key == "features.image" and is_region_file(Path(value.strip().strip("\"'")))
    return recipe.image.kind == "regions" or not (key in OF_REGIONS or file)


def _check_patterns(rows: Sequence[Row], overrides: Sequence[str]) -> None:
    """Raise ``SettingError`` if an override is for a row that does not exist."""
    for override in overrides:
        pattern = split_override(override)[0]
        if pattern is not None and not any(row.recipe and fnmatchcase(row.key, pattern) for row in rows):
            trained = ", ".join(row.key for row in rows if row.recipe)
            raise SettingError(f"{override}: no row is called {pattern}; there are {trained}")


def _is(row: Row | PublishedRow, name: str) -> bool:
    return name.strip().casefold() in (row.key, row.name.casefold())


NOT_COMPARED = ("name", "follows", "seed", "image.network")  # the last is reported as an input


def differing(row: Row, table: PublishedTable, sample: Recipe, *, width: int | None, seeds: int) -> list[str]:
    """Return the differences of a row's recipe from the paper, ours first and the paper's in brackets; may be empty.

    Args:
        width: Numbers of the image features of rows that read a table of them; None if unknown.
    """
    recipe = row.recipe or (sample if row.key == DETECTION else None)
    if recipe is None:
        return []
    differences = _inputs(recipe, table, width, detects=row.recipe is None)
    if row.recipe is None or row.plain is None:
        return differences
    settings = _all(row.recipe)
    stated = {key: statement for key, statement in table.stated.items() if statement.where.items() <= settings.items()}
    stated |= row.stated
    kinds = {name: type(getattr(row.recipe, name))() for name in ("text", "image")}  # where the paper has another kind
    plain = _all(row.plain)
    defaults = flat({name: section.model_dump(mode="json") for name, section in kinds.items()}) | plain
    for key, value in settings.items():
        statement = stated.get(key) or Statement(defaults.get(key), "" if key in table.varied else "by the recipe")
        paper = None if statement.value == "none" != value else statement.value  # attention is called "none"
        if key not in (*NOT_COMPARED, *table.inputs) and value != paper:
            differences.append(f"{key} {_as_text(value)} ({_as_text(paper)}{_at(statement)})")
    for key, statement in stated.items():  # of settings that the row's encoders do not have
        kind = f"{key.partition('.')[0]}.kind"
        if key not in settings and statement.value not in ("none", 0) and settings.get(kind) == plain.get(kind):
            differences.append(f"no {key} ({_as_text(statement.value)}{_at(statement)})")
    if seeds > 1:
        differences.append(f"{seeds} seeds ({table.runs})")
    return differences


def _at(statement: Statement) -> str:
    """Return the place of a statement, to stand behind its value."""
    if not statement.place:
        return ""
    return f" {statement.place}" if statement.place == "by the recipe" else f", {statement.place}"


def of_data(corpus: str, prepared: Prepared, table: PublishedTable, dataset: str | None) -> str | None:
    """Describe the difference of a corpus's documents from the paper's data set; None if they are as many."""
    document_counts = [len(prepared.documents(split)) for split in ("train", "validation", "test")]
    paper = table.documents.get(dataset or "")
    if paper is not None and all(map(_as_stated, document_counts, paper)):
        return None
    counts = " / ".join(f"{count:,}" for count in document_counts)
    source = "no data set of the paper is named"
    if dataset is not None:
        source = f"{dataset}" + (f": {' / '.join(f'{count:,}' for count in paper)}" if paper else "")
    return f"data: {corpus}, {counts} documents for training / validation / test ({source})"


def _as_stated(count: int, stated: int) -> bool:
    """Tell whether a count is the stated one, which may be rounded: 6,502 is 7,000."""
    # A number that ends in n zeros is taken for one that was rounded to tens to the power of n.
    zeros = len(str(stated)) - len(str(stated).rstrip("0"))
    return 2 * abs(count - stated) <= int(10**zeros)


def line(name: str, differences: Sequence[str]) -> str:
    """Write the fidelity line of a row, or of several."""
    if not differences:
        return f"{name}: as the paper says, as far as it says it, but for the notes below."
    return f"{name}: differs from the paper (its own in brackets): {'; '.join(differences)}."


def _inputs(recipe: Recipe, table: PublishedTable, width: int | None, *, detects: bool) -> list[str]:
    """Return the image features and word vectors that are not the paper's, with the paper's in brackets.

    For object detection (``detects``) they are those of ``links.score_object_detection``: it needs a classifier, which
    a table has not, and vectors that mean something.
    """
    differences = (_other_image_features(recipe, table, width, detects), _other_word_vectors(recipe, table, detects))
    return [text for text in differences if text]


def _other_image_features(recipe: Recipe, table: PublishedTable, width: int | None, detects: bool) -> str | None:
    """Compare by the name, or the width of a table or file of regions, whose detector and number are not checked."""
    value = recipe.features.image
    is_table, has_regions = value.endswith(".npy"), recipe.regions is not None
    paper = table.inputs.get("regions" if has_regions else "features.image")
    if paper is None:
        return None
    if detects and (is_table or value == "pixels"):
        value, is_table = BUNDLED, False
    if isinstance(recipe.image, NetworkSettings) and not detects:
        value = f"{recipe.image.network}, trained along"
    is_file = is_table or (has_regions and is_region_file(Path(value)))
    if has_regions:
        same = is_file and width in (None, paper["width"])
    else:
        same = _is_like(value, paper) or (is_table and width == paper["width"])
    numbers = f", {width} numbers" if is_file and width else ""
    return None if same else f"image features {value}{numbers} ({paper['name']})"


def _other_word_vectors(recipe: Recipe, table: PublishedTable, detects: bool) -> str | None:
    paper = table.inputs.get("text.word_vectors")
    if paper is None or (recipe.words is None and not detects):
        return None
    value = recipe.words.word_vectors if recipe.words else None
    if value is None and detects:
        value = "of a text backbone" if recipe.features.text == "words" else f"of {recipe.features.text}"
    value = value or "random"
    return None if _is_like(value, paper) else f"word vectors {value} ({paper['name']})"


def _is_like(value: str, paper: Mapping[str, Any]) -> bool:
    return any(pattern in value.casefold() for pattern in paper["like"])


def _all(recipe: Recipe) -> dict[str, Any]:
    return flat(recipe.model_dump(mode="json"))


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
