"""What differs from the paper in a row: its recipe and its data beside what the paper says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.features.regions.files import is_region_file
from iconotext.papers.published import PublishedTable
from iconotext.papers.tables.rows import DETECTION, Row
from iconotext.recipe.encoders import EMBEDDED
from iconotext.train.folder import flat

if TYPE_CHECKING:
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared

DEFAULTS = {"features.image": "the backbone that comes with the program", "text.word_vectors": "random"}
"""What an input is called that the recipe leaves as it is."""

OF_REGIONS = "regions"
"""What the paper says of ``features.image`` for rows that read regions."""

NOT_COMPARED = ("name", "follows", "seed", "image.network")  # the last is told as an input


def differing(row: Row, table: PublishedTable, sample: Recipe, *, width: int | None, seeds: int) -> list[str]:
    """What of a row's recipe is not as the paper says, ours first and the paper's in brackets; empty where nothing is.

    Args:
        sample: Recipe of a trained row: what object detection reads is named in it.
        width: Numbers of the image features of rows that read a table of them; None where that is not known.
    """
    recipe = row.recipe or (sample if row.key == DETECTION else None)
    if recipe is None:
        return []
    found = [*_inputs(recipe, table, width, detects=row.recipe is None)]
    if row.recipe is None or row.plain is None:
        return found
    stated = table.stated if row.extra else {**table.stated, **row.settings}
    kinds = {name: type(getattr(row.recipe, name))() for name in ("text", "image")}  # where the paper has another kind
    unsaid = flat({name: each.model_dump(mode="json") for name, each in kinds.items()}) | _all(row.plain)
    for key, value in _all(row.recipe).items():
        paper = stated.get(key, unsaid.get(key))
        paper = None if paper == "none" else paper
        if key not in (*NOT_COMPARED, *table.inputs) and value != paper:
            found.append(f"{key} {_shown(value)} ({_shown(paper)}{'' if key in stated else ' by the recipe'})")
    if seeds > 1:
        found.append(f"{seeds} seeds (one run)")
    return found


def of_data(corpus: Path, prepared: Prepared, table: PublishedTable, dataset: str | None) -> str | None:
    """How the documents of a corpus differ from those of the paper's data set; None where they are as many."""
    ours = [len(prepared.documents(split)) for split in ("train", "validation", "test")]
    paper = table.documents.get(dataset or "")
    if paper is not None and all(map(_as_stated, ours, paper)):
        return None
    shown = " / ".join(f"{each:,}" for each in ours)
    said = "no data set of the paper is named"
    if dataset is not None:
        said = f"{dataset}" + (f": {' / '.join(f'{each:,}' for each in paper)}" if paper else "")
    return f"data: {corpus.name}, {shown} documents for training / validation / test ({said})"


def _as_stated(count: int, stated: int) -> bool:
    """Whether a count is the stated one, which may be rounded: 6,502 is 7,000."""
    zeros = len(str(stated)) - len(str(stated).rstrip("0"))
    return 2 * abs(count - stated) <= int(10**zeros)


def line(name: str, found: Sequence[str]) -> str:
    """The fidelity line of a row, or of several."""
    if not found:
        return f"{name}: as the paper says, as far as it says it."
    return f"{name}: differs from the paper (its own in brackets): {'; '.join(found)}."


def _inputs(recipe: Recipe, table: PublishedTable, width: int | None, *, detects: bool) -> Iterator[str]:
    """Image features and word vectors that are not the paper's: by their name, or a table by its width.

    Object detection needs a classifier, which a table has not, and vectors that mean something; see ``baselines``.
    """
    ours = _all(recipe)
    for key, what in (("features.image", "image features"), ("text.word_vectors", "word vectors")):
        paper = table.inputs.get(OF_REGIONS if key == "features.image" and recipe.regions else key)
        if paper is None or key not in ours:
            continue
        value = str(ours[key]) if ours[key] is not None else DEFAULTS[key]
        if detects and key == "features.image" and (value == "pixels" or value.endswith(".npy")):
            value = EMBEDDED
        if detects and value == DEFAULTS["text.word_vectors"]:
            value = "of a text backbone"
        if value == "pixels":
            value = f"{ours.get('image.network', EMBEDDED)}, trained along"
        same = any(each in value.casefold() for each in paper["like"])
        if key == "features.image" and value.endswith(".npy"):
            same = same or width == paper["width"]
            value += f", {width} numbers" if width and not same else ""
        if recipe.regions and key == "features.image":
            same = is_region_file(Path(value))
        if not same:
            yield f"{what} {value} ({paper['name']})"


def _all(recipe: Recipe) -> dict[str, Any]:
    return flat(recipe.model_dump(mode="json"))


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
