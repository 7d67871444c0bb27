"""Clue (Alikhani et al. 2020): captions of Conceptual Captions, by people and by models, with six relations.

The pictures are named by their web addresses. A row has no number of its own: a document's id is a digest of caption
and address, the same in every version of the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from iconotext.corpus.builders.images.found import FoundImages, distinct_names
from iconotext.papers.datasets.labelled.answers import clean_text
from iconotext.papers.datasets.labelled.pairs import DataSet, Pair, kept_answer, relations_of
from iconotext.papers.datasets.labelled.splits import PUBLISHED
from iconotext.relations import CLUE

ADDRESS = re.compile("https?://", re.IGNORECASE)

SCHEME = "clue:"
"""What the name of a picture begins with that is neither an address nor at hand: it is no path."""

COLUMNS = {name: name.casefold() for name in CLUE}
"""By relation, the column of its answers."""

OTHERS = ("Other", "When", "Where", "How")
"""Labels that are no relations: none of the six; and what Meta says."""


def clue_pair(values: dict[str, str], file: str, line: int) -> Pair:
    """The pair of a row.

    Raises:
        ValueError: It has no caption or no address.
    """
    text = clean_text(values["caption"])
    address = values["url"].strip()
    if not text:
        raise ValueError("no text")
    if not address:
        raise ValueError("no picture is named")
    relations, notes = relations_of(values, COLUMNS)
    meta: dict[str, object] = {"source": file, "line": line, "url": address}
    for name in OTHERS:
        if name.casefold() in values:
            meta[name] = kept_answer(values[name.casefold()])
    if values.get("comment", "").strip():
        meta["Comment"] = values["comment"].strip()
    digest = hashlib.blake2b(f"{text}\0{address}".encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    image = address if ADDRESS.match(address) else f"{SCHEME}{address}"
    return Pair(f"clue-{digest}", text, image, relations, meta, notes)


def _finder(found: FoundImages, pictures: Sequence[str]) -> Callable[[str], Path | None]:
    alone = distinct_names(pictures)
    return lambda image: (
        found.at(image, by_name=image in alone) if ADDRESS.match(image) else found.named(image.removeprefix(SCHEME))
    )


CLUE_TABLE = DataSet(
    name="clue",
    needed=("caption", "url", *COLUMNS.values()),
    about="a table of the folder dataset of github.com/malihealikhani/Cross-modal_Coherence_Modeling",
    relations=CLUE,
    published={"pairs": sum(PUBLISHED["Clue"].values()), **PUBLISHED["Clue"]},
    pair_of=clue_pair,
    finder=_finder,
)
"""How Clue is read; the published table has 7,747 rows with 7,642 different pairs where the paper says 7,559."""
