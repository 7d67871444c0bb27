"""CITE (Alikhani et al. 2019) and CITE++ (Alikhani 2021): steps of recipes, each with its picture and ten questions.

The published table has an answer to each question; questions 2 to 8 are the relations of Table 1. Texts still have
HTML entities, and a few characters that were lost on the way (see ``MISREAD``), which are mended; what was published
stays in ``meta.stim_txt`` where it differs. The pictures are those of RecipeQA and are not part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from iconotext.corpus.builders.images.found import FoundImages
from iconotext.papers.datasets.labelled.answers import clean_text
from iconotext.papers.datasets.labelled.pairs import DataSet, Pair, kept_answer, relations_of
from iconotext.papers.datasets.labelled.splits import PUBLISHED
from iconotext.relations import RELATIONS

SCHEME = "recipeqa:"
"""What the name of a picture begins with that is not at hand: it is no path."""

COLUMNS = {relation.name: f"{relation.question}_resp" for relation in RELATIONS if relation.source == "cite"}
"""By relation, the column of its answers."""

OTHERS = ("q1_resp", "q9_resp", "q10_resp")
"""Questions that are no relations."""


def cite_pair(values: dict[str, str], file: str, line: int) -> Pair:
    """The pair of a row.

    Raises:
        ValueError: It has no text or names no picture.
    """
    text = clean_text(values["stim_txt"], misread=True)
    image = values["qimg"].strip()
    if not text:
        raise ValueError("no text")
    if not image:
        raise ValueError("no picture is named")
    relations, notes = relations_of(values, COLUMNS)
    published = values.get("stim_id", "").strip()
    meta: dict[str, object] = {"source": file, "line": line, "qimg": image}
    if published:
        meta["stim_id"] = published
    for column in OTHERS:
        if column in values:
            name = column.removesuffix("_resp")
            meta[name] = (values[column] or None) if column == "q1_resp" else kept_answer(values[column])
    if values.get("complement"):
        meta["complement"] = values["complement"]
    if text != " ".join(values["stim_txt"].split()):
        meta["stim_txt"] = values["stim_txt"]
    return Pair(published or f"{Path(file).stem}-{line}", text, f"{SCHEME}{image}", relations, meta, notes)


def _finder(found: FoundImages, pictures: Sequence[str]) -> Callable[[str], Path | None]:
    return lambda image: found.named(image.removeprefix(SCHEME))


CITE_TABLE = DataSet(
    name="cite",
    needed=("stim_txt", "qimg", *COLUMNS.values()),
    about="data/data.csv of github.com/malihealikhani/CITE, or another table of its columns",
    relations=tuple(COLUMNS),
    published={"pairs": {"CITE": 2057, "CITE++": sum(PUBLISHED["CITE++"].values())}, **PUBLISHED["CITE++"]},
    pair_of=cite_pair,
    finder=_finder,
)
"""How CITE is read; the published table has 2,047 rows where the paper says 2,057."""
