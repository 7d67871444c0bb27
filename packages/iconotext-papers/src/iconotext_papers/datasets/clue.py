"""Clue (Alikhani et al. 2020): captions of Conceptual Captions, by people and by models, with six relations.

The pictures are named by their web addresses. A row has no number of its own: a document's id is a digest of caption
and address, the same in every version of the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.relations import CLUE as RELATIONS
from iconotext_papers.datasets.downloads import FetchSettings
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

ADDRESS = re.compile("https?://", re.IGNORECASE)

SCHEME = "clue:"
"""Prefix of the name of a picture that is neither an address nor a file, so that the name is not taken for a path."""

OTHERS = ("Other", "When", "Where", "How")
"""Labels that are not relations: none of the six, and the remarks of Meta."""


class Settings(FetchSettings, LabelledSettings):
    """Make a corpus of Clue: a document for each annotated pair of a caption and the picture at an address.

    A fifth of the pairs is for test, a tenth of the others for validation (the shares of Alikhani 2021), at random.
    Without pictures, images are named by their addresses. What became of every row is in the report beside the corpus.

    **Examples**

    - `iconotext papers build clue -s data-both-04-08-cleaned.tsv -o clue.jsonl`
    - `iconotext papers build clue -s data.tsv -o clue.jsonl --images clue/ --fetch`
    """

    source: tuple[Path, ...]
    """data-both-04-08-cleaned.tsv as published with Clue. May be repeated, for other tables with its columns."""

    images: Path | None = None
    """Folder of the pictures. Named by SHA-256, SHA-1 or MD5 of their addresses, or as they are there."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """The documents, in the order of the rows.

    The published table has 7,747 rows with 7,642 different pairs where the paper says 7,559.
    """
    interval = settings.interval if settings.fetch else None
    yield from labelled_documents(build, settings, CLUE, fetch_interval=interval)
    sizes = PUBLISHED["Clue"]
    build.report.note(
        f"the paper has {sizes['train']:,} pairs for training and validation and {sizes['test']:,} for test"
    )


def _pair(row: TableRow, text: str, address: str, relations: dict[str, bool | None]) -> Pair:
    values = row.values
    meta: dict[str, object] = {"source": row.file, "line": row.line, "url": address}
    for name in OTHERS:
        if name.casefold() in values:
            meta[name] = parse_answer(values[name.casefold()])
    if values.get("comment", "").strip():
        meta["Comment"] = values["comment"].strip()
    digest = hashlib.blake2b(f"{text}\0{address}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    image = address if ADDRESS.match(address) else f"{SCHEME}{address}"
    return Pair(f"clue-{digest}", text, image, relations, meta)


CLUE = DataSet(
    about="a table of the folder dataset of github.com/malihealikhani/Cross-modal_Coherence_Modeling",
    relations={name: name.casefold() for name in RELATIONS},
    text="caption",
    image="url",
    published=sum(PUBLISHED["Clue"].values()),
    pair=_pair,
    scheme=SCHEME,
)
"""Description of Clue's tables."""
