"""CITE (Alikhani et al. 2019) and CITE++ (Alikhani 2021): steps of recipes, each with its picture and ten questions.

The published table has an answer to each question; questions 2 to 8 are the relations of Table 1. Texts still have
HTML entities, and a few characters that were lost (see ``MISREAD``), which are mended; what was published
stays in ``meta.stim_txt`` where it differs. The pictures are those of RecipeQA and are not part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.relations import RELATIONS
from iconotext_papers.datasets.labelled_pairs import (
    PUBLISHED,
    DataSet,
    LabelledSettings,
    Pair,
    TableRow,
    labelled_documents,
    parse_answer,
)

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values

SCHEME = "recipeqa:"
"""Prefix of the name of a picture without a file, so that the name is not taken for a path."""

MISREAD = {"\\t": " ", "\\u0019": "’", "†": " ", "∞": "°"}
"""Characters that were lost before the table was published: a tabulator and an apostrophe that were written as escapes,
and a no-break space and a degree sign whose Mac Roman bytes were read in another encoding."""

OTHERS = ("q1_resp", "q9_resp", "q10_resp")
"""Questions that are not relations."""


class Settings(LabelledSettings):
    """Make a corpus of CITE or CITE++: a document for each annotated pair of a step and its picture.

    A fifth of the pairs is for test, a tenth of the others for validation (the shares of Alikhani 2021), at random.
    Without pictures, images are named `recipeqa:NAME`. What became of every row is in the report beside the corpus.

    **Examples**

    - `iconotext papers build cite --source data.csv --output cite.jsonl`
    - `iconotext papers build cite -s data.csv --images images/ -o c.jsonl`
    - `iconotext papers build cite -s data.csv -s more.csv -o citepp.parquet --group`
    """

    source: tuple[Path, ...]
    """data.csv as published with CITE. May be repeated, for other tables with its columns, such as that of CITE++."""

    images: Path | None = None
    """Folder of the pictures of RecipeQA. They may lie in folders inside it."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """The documents, in the order of the rows; the published table has 2,047 rows where the paper says 2,057."""
    yield from labelled_documents(build, settings, CITE)
    sizes = PUBLISHED["CITE++"]
    build.report.note(
        f"CITE++ has {sum(sizes.values()):,} pairs in the paper, {sizes['train']:,} for training and validation and "
        f"{sizes['test']:,} for test"
    )


def _pair(row: TableRow, text: str, image: str, relations: dict[str, bool | None]) -> Pair:
    values = row.values
    published = values.get("stim_id", "").strip()
    meta: dict[str, object] = {"source": row.file, "line": row.line, "qimg": image}
    if published:
        meta["stim_id"] = published
    for column in OTHERS:
        if column in values:
            name = column.removesuffix("_resp")
            meta[name] = (values[column] or None) if column == "q1_resp" else parse_answer(values[column])
    if values.get("complement"):
        meta["complement"] = values["complement"]
    if text != " ".join(values["stim_txt"].split()):
        meta["stim_txt"] = values["stim_txt"]
    return Pair(published or f"{Path(row.file).stem}-{row.line}", text, f"{SCHEME}{image}", relations, meta)


CITE = DataSet(
    about="data/data.csv of github.com/malihealikhani/CITE, or another table of its columns",
    relations={relation.name: f"{relation.question}_resp" for relation in RELATIONS if relation.source == "cite"},
    text="stim_txt",
    image="qimg",
    published=2057,
    pair=_pair,
    scheme=SCHEME,
    misread=MISREAD,
)
"""Description of CITE's tables."""
