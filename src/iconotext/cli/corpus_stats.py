"""``iconotext corpus stats``: statistics of corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus import document_total
from iconotext.cli.options import Json, argument
from iconotext.cli.output import say, say_json, show
from iconotext.corpus.stats import row_stats
from iconotext.plain_text import counted, percent
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.corpus.stats import CorpusStats

HEADER = ("corpus", "train/val/test", "median n/m", "mean n/m", "max n/m", "images", "density")
"""Columns of the sizes: n sentences, m images in a document."""


def stats(
    paths: Annotated[list[Path], argument(metavar="PATH...", help="Corpora, each a row of the table.")],
    json: Json = False,
) -> None:
    """Count documents, sentences, images and links: the columns of Table 1 of Hessel 2019.

    n is the number of sentences of a document, m that of its images. Density is the number of gold links divided by
    the number of possible links, over the documents whose links are known. Where documents have coherence relations, a
    second table has the share of each, as Tables 1 and 2 of Alikhani 2021.

    **Examples**

    - `iconotext corpus stats corpus.jsonl`
    - `iconotext corpus stats mscoco.jsonl dii.jsonl`
    - `iconotext corpus stats mscoco/ dii/ diy/ --json`
    """
    with known_errors():
        from iconotext.corpus.store import read_rows

        counts = [
            row_stats(progress(read_rows(path), total=document_total(path), label=f"Counting {path.name}"))
            for path in paths
        ]
        by_name = dict(zip(short_names(paths), counts, strict=True))
        if json:
            values = [{"corpus": str(path), **numbers.as_json()} for path, numbers in zip(paths, counts, strict=True)]
            say_json(values)
            return
        sizes = Grid("", HEADER, [[name, *size_cells(numbers)] for name, numbers in by_name.items()])
        show([sizes, *relation_grids(by_name)])
        for path, numbers in zip(paths, counts, strict=True):
            if numbers.unknown:
                documents = counted(numbers.documents, "document")
                say(f"{path}: the links of {numbers.unknown:,} of {documents} are not known")


def short_names(paths: Sequence[Path]) -> list[str]:
    """Short names of corpora: the ends of their paths, as long as necessary to distinguish them."""
    for length in range(1, max(len(path.parts) for path in paths)):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names) and all(names):
            return names
    return [str(path) for path in paths]


def size_cells(numbers: CorpusStats) -> tuple[str, ...]:
    """Cells of a corpus below ``HEADER``, without its name."""
    n, m = numbers.sentences, numbers.images
    return (
        _splits(numbers),
        f"{n.median:g}/{m.median:g}",
        f"{n.mean:.1f}/{m.mean:.1f}",
        f"{n.max}/{m.max}",
        f"{numbers.unique_images:,}",
        "N/A" if numbers.density is None else percent(numbers.density, 1),
    )


def _splits(numbers: CorpusStats) -> str:
    if set(numbers.splits) <= {"none"}:
        return f"{numbers.documents:,}"
    parts = "/".join(f"{numbers.splits.get(name, 0):,}" for name in ("train", "validation", "test"))
    undivided = numbers.splits.get("none", 0)
    return f"{parts} + {undivided:,}" if undivided else parts


def relation_grids(
    by_name: Mapping[str, CorpusStats], more: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> list[Grid]:
    """Positive rates of coherence relations, a column for each corpus that has any.

    Args:
        more: Further columns: heading to cells by relation.
    """
    having = {name: numbers.relations for name, numbers in by_name.items() if numbers.relations}
    if not having:
        return []
    rows = []
    for relation in dict.fromkeys(relation for relations in having.values() for relation in relations):
        row = [relation]
        for relations in having.values():
            answered = relations.get(relation)
            if answered is None or answered.rate is None:
                row.append("")
            else:
                row.append(f"{percent(answered.rate, 1)} of {answered.total:,}")
        rows.append([*row, *(cells.get(relation, "") for cells in more.values())])
    return [Grid("", ["relation", *having, *more], rows)]
