"""``iconotext corpus stats``: statistics of corpora beside those of the papers, and histograms of document sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus import total
from iconotext.cli.options import Force, Json, argument, option
from iconotext.cli.output import output_console, print_table, say, say_json
from iconotext.corpus.stats import TABLE_1
from iconotext.plain_text import counted, percent

if TYPE_CHECKING:
    from iconotext.corpus.stats import CorpusStats, Sizes

HEADER = ("corpus", "\ntrain/val/test", "median\nn/m", "mean\nn/m", "max\nn/m", "\nimages", "\ndensity")

ROWS = 10
"""Maximum number of bars of a histogram on the terminal."""

BAR = 24
"""Length of the longest bar in characters."""


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
    second table has the share of each, as Tables 1 and 2 of Alikhani 2021. Below, a histogram of n and one of m.

    **Examples**

    - `iconotext corpus stats corpus.jsonl`
    - `iconotext corpus stats mscoco.jsonl dii.jsonl --published --plot sizes.svg`
    - `iconotext corpus stats mscoco/ dii/ diy/ --json`
    """
    with known_errors():
        from iconotext.corpus.stats import row_stats
        from iconotext.corpus.store import read_rows
        from iconotext.papers.analyses.drawing import check_figure

        if plot is not None:
            check_figure(plot, force=force)
        counts = [
            row_stats(progress(read_rows(path), total=total(path), label=f"Counting {path.name}")) for path in paths
        ]
        found = dict(zip(_names(paths), counts, strict=True))
        if plot is not None:  # first: who reads the tables may stop after some lines
            from iconotext.papers.analyses.drawing import write_sizes

            write_sizes(found, plot, force=force)
            say(f"{plot}: histograms of {len(found)} {'corpora' if len(found) > 1 else 'corpus'}", err=True)
        if json:
            values = [{"corpus": str(path), **numbers.as_json()} for path, numbers in zip(paths, counts, strict=True)]
            if published:
                values += [{"published": name, **asdict(sizes)} for name, sizes in TABLE_1.items()]
            say_json(values)
            return
        _show_sizes(found, published=published)
        _show_relations(found)
        for path, numbers in zip(paths, counts, strict=True):
            if numbers.unknown:
                documents = counted(numbers.documents, "document")
                say(f"{path}: the links of {numbers.unknown:,} of {documents} are not known")
        for name, numbers in found.items():
            if numbers.documents:
                _show_histograms(numbers, name)


def _names(paths: Sequence[Path]) -> list[str]:
    """Short names of corpora: the ends of their paths, as long as necessary to distinguish them."""
    for length in range(1, max(len(path.parts) for path in paths)):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names) and all(names):
            return names
    return [str(path) for path in paths]


def _show_sizes(found: dict[str, CorpusStats], *, published: bool) -> None:
    """A row for each corpus, in the form of the paper's Table 1."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(HEADER[0], overflow="fold", vertical="bottom")
    for header in HEADER[1:]:
        table.add_column(header, justify="right", no_wrap=True)
    for name, numbers in found.items():
        table.add_row(Text(name), *_cells(numbers))
    if published:
        table.add_section()
        for row in _published_rows():
            table.add_row(*row, style="dim")
    print_table(table)
    if published:
        say("below the line: as published, rounded (Hessel 2019, Table 1 and supplement)")


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
    rest = numbers.splits.get("none", 0)
    return f"{parts} + {rest:,}" if rest else parts


def _published_rows() -> list[tuple[str, ...]]:
    """The rows of Table 1, with mean and maximum if the supplement has them."""
    return [
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


def _show_relations(found: dict[str, CorpusStats]) -> None:
    """Positive rates of coherence relations, a column for each corpus that has any, and the published ones."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from iconotext.papers.published import published_rates

    having = {name: numbers.relations for name, numbers in found.items() if numbers.relations}
    if not having:
        return
    published = published_rates()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("relation", no_wrap=True, vertical="bottom")
    for name in having:
        table.add_column(Text(name), justify="right", overflow="fold", max_width=24)
    table.add_column("published", justify="right", no_wrap=True, vertical="bottom")
    for relation in dict.fromkeys(relation for relations in having.values() for relation in relations):
        cells = []
        for relations in having.values():
            answered = relations.get(relation)
            rate = None if answered is None else answered.rate
            cells.append("" if answered is None or rate is None else f"{percent(rate, 1)} of {answered.known:,}")
        table.add_row(Text(relation), *cells, percent(published[relation] / 100, 1) if relation in published else "")
    print_table(table)


def _show_histograms(numbers: CorpusStats, name: str) -> None:
    from itertools import zip_longest

    from rich.table import Table
    from rich.text import Text

    chart = Table(box=None, pad_edge=False, title=Text(name, "bold"), title_justify="left")
    for what in ("sentences", "images"):
        chart.add_column(what, justify="right", no_wrap=True)
        chart.add_column("documents", no_wrap=True)
    room = output_console().width // 2 - 22
    columns = [_bars(sizes, min(max(room, 4), BAR)) for sizes in (numbers.sentences, numbers.images)]
    for left, right in zip_longest(*columns, fillvalue=("", "")):
        chart.add_row(*left, *right)
    print_table(chart)


def _bars(sizes: Sizes, width: int) -> list[tuple[str, str]]:
    """Label, and bar with its number, of each bin; the longest bar has ``width`` characters."""
    from iconotext.corpus.stats import bins

    plain = output_console().options.ascii_only
    found = bins(sizes.histogram, ROWS)
    largest = max(each.count for each in found)
    rows = []
    for each in found:
        bar = ("#" if plain else "█") * -(-each.count * width // largest)  # rounded up, so one document is visible
        rows.append((each.label.replace("–", "-") if plain else each.label, f"{bar} {each.count:,}".lstrip()))
    return rows
