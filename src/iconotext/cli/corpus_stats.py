"""``iconotext corpus stats``: statistics of corpora beside those of the papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus import document_total
from iconotext.cli.options import Force, Json, argument, option
from iconotext.cli.output import say, say_json, show
from iconotext.corpus.stats import TABLE_1, row_stats
from iconotext.plain_text import counted, percent
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.corpus.stats import CorpusStats

HEADER = ("corpus", "train/val/test", "median n/m", "mean n/m", "max n/m", "images", "density")


def stats(
    paths: Annotated[list[Path], argument(metavar="PATH...", help="Corpora, each a row of the table.")],
    published: Annotated[
        bool, typer.Option("--published", help="Show the rows of Table 1 as published below, to compare.")
    ] = False,
    plot: Annotated[
        Path | None, option(help="Draw the histograms of sentences and images per document into a .svg, .png or .pdf.")
    ] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Count documents, sentences, images and links: the columns of Table 1 of Hessel 2019.

    n is the number of sentences of a document, m that of its images. Density is the number of gold links divided by
    the number of possible links, over the documents whose links are known. Where documents have coherence relations, a
    second table has the share of each, as Tables 1 and 2 of Alikhani 2021.

    **Examples**

    - `iconotext corpus stats corpus.jsonl`
    - `iconotext corpus stats mscoco.jsonl dii.jsonl --published --plot sizes.svg`
    - `iconotext corpus stats mscoco/ dii/ diy/ --json`
    """
    with known_errors():
        from iconotext.corpus.store import read_rows
        from iconotext.report.charts import check_figure

        if plot is not None:
            check_figure(plot, force=force)
        counts = [
            row_stats(progress(read_rows(path), total=document_total(path), label=f"Counting {path.name}"))
            for path in paths
        ]
        by_name = dict(zip(_names(paths), counts, strict=True))
        if plot is not None:  # first: who reads the tables may stop after some lines
            from iconotext.papers.analyses.corpus_sizes import write_sizes

            write_sizes(by_name, plot, force=force)
            say(f"{plot}: histograms of {len(by_name)} {'corpora' if len(by_name) > 1 else 'corpus'}", err=True)
        if json:
            values = [{"corpus": str(path), **numbers.as_json()} for path, numbers in zip(paths, counts, strict=True)]
            if published:
                values += [{"published": name, **asdict(sizes)} for name, sizes in TABLE_1.items()]
            say_json(values)
            return
        sizes = Grid("", HEADER, [[name, *_cells(numbers)] for name, numbers in by_name.items()])
        show([sizes, *([_published_grid()] if published else []), *_relations_grids(by_name)])
        for path, numbers in zip(paths, counts, strict=True):
            if numbers.unknown:
                documents = counted(numbers.documents, "document")
                say(f"{path}: the links of {numbers.unknown:,} of {documents} are not known")


def _names(paths: Sequence[Path]) -> list[str]:
    """Short names of corpora: the ends of their paths, as long as necessary to distinguish them."""
    for length in range(1, max(len(path.parts) for path in paths)):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names) and all(names):
            return names
    return [str(path) for path in paths]


def _cells(numbers: CorpusStats) -> tuple[str, ...]:
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


def _published_grid() -> Grid:
    """The rows of Table 1, with mean and maximum if the supplement has them."""
    rows = [
        (
            name,
            "/".join(f"{documents // 1000}K" for documents in sizes.documents),
            "/".join(map(str, sizes.median)),
            "/".join(f"{mean:g}" for mean in sizes.mean or ()),
            "/".join(map(str, sizes.max or ())),
            f"{sizes.images // 1000}K",
            "N/A" if sizes.density is None else percent(sizes.density / 100),
        )
        for name, sizes in TABLE_1.items()
    ]
    return Grid("Table 1 of Hessel 2019 and its supplement, as published, rounded", HEADER, rows)


def _relations_grids(by_name: dict[str, CorpusStats]) -> list[Grid]:
    """Positive rates of coherence relations, a column for each corpus that has any, and the published ones."""
    from iconotext.papers.published import published_rates

    having = {name: numbers.relations for name, numbers in by_name.items() if numbers.relations}
    if not having:
        return []
    published = published_rates()
    rows = []
    for relation in dict.fromkeys(relation for relations in having.values() for relation in relations):
        row = [relation]
        for relations in having.values():
            answered = relations.get(relation)
            if answered is None or answered.rate is None:
                row.append("")
            else:
                row.append(f"{percent(answered.rate, 1)} of {answered.total:,}")
        rows.append([*row, percent(published[relation] / 100, 1) if relation in published else ""])
    return [Grid("", ["relation", *having, "published"], rows)]
