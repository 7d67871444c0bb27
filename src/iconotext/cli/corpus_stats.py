"""``iconotext corpus stats``: corpora in numbers, beside those of the papers, and how large their documents are."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus_progress import total
from iconotext.cli.options import Force, Json
from iconotext.cli.output import output_console, say, say_json
from iconotext.plain_text import counted, percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from iconotext.corpus.histogram import Bin
    from iconotext.corpus.stats import CorpusStats

Found = list[tuple[Path, "CorpusStats"]]

HEADER = [
    ("", "", "median", "mean", "max", "", ""),
    ("corpus", "train/val/test", "n/m", "n/m", "n/m", "images", "density"),
]

GAP = 2
"""Spaces between two columns."""

ROWS = 10
"""Bars of a histogram on the terminal, at most."""

BAR = 24
"""Characters of the longest bar."""

EIGHTHS = " ▏▎▍▌▋▊▉"


def stats(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Corpora, each a row of the table.", show_default=False)
    ],
    published: Annotated[
        bool, typer.Option("--published", help="Show the rows of Table 1 as published below, to compare.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the histograms of sentences and images per document into a .svg, .png or .pdf.",
            show_default=False,
        ),
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

        if plot is not None:
            from iconotext.evaluate.drawing import check_figure

            check_figure(plot, force=force)
        found = [
            (path, row_stats(progress(read_rows(path), total=total(path), label=f"Counting {path.name}")))
            for path in paths
        ]
        if plot is not None:  # first: who reads the tables may stop after some lines
            from iconotext.papers.analyses.corpus_sizes import write_sizes

            write_sizes(dict(zip(_names(paths), (numbers for _, numbers in found), strict=True)), plot, force=force)
            say(f"{plot}: histograms of {len(found)} {'corpora' if len(found) > 1 else 'corpus'}", err=True)
        if json:
            _print_json(found, published=published)
        else:
            _show(found, published=published)


def _names(paths: Sequence[Path]) -> list[str]:
    """What the corpora are called: by as much of the ends of their paths as tells them apart."""
    for length in range(1, max(len(path.parts) for path in paths)):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names) and all(names):
            return names
    return [str(path) for path in paths]


def _print_json(found: Found, *, published: bool) -> None:
    from dataclasses import asdict

    from iconotext.corpus.published_sizes import TABLE_1

    values: list[dict[str, object]] = [{"corpus": str(path), **numbers.as_json()} for path, numbers in found]
    if published:
        values += [{"published": name, **asdict(sizes)} for name, sizes in TABLE_1.items()]
    say_json(values)


def _show(found: Found, *, published: bool) -> None:
    """A row for each corpus, as Table 1 of the paper has it; relations; histograms."""
    names = _names([path for path, _ in found])
    rows = [(name, *_cells(numbers)) for name, (_, numbers) in zip(names, found, strict=True)]
    _show_rows(rows, _published() if published else [])
    if published:
        say("below the line: as published, rounded (Hessel 2019, Table 1 and supplement)")
    _show_relations(found, names)
    for path, numbers in found:
        if numbers.unknown:
            say(f"{path}: the links of {numbers.unknown:,} of {counted(numbers.documents, 'document')} are not known")
    for name, (_, numbers) in zip(names, found, strict=True):
        if numbers.documents:
            _show_histograms(numbers, name)


def _cells(numbers: CorpusStats) -> tuple[str, ...]:
    """The row of a corpus after its name."""
    n, m = numbers.sentences, numbers.images
    return (
        _splits(numbers),
        f"{n.median:g}/{m.median:g}",
        f"{n.mean:.1f}/{m.mean:.1f}",
        f"{n.max}/{m.max}",
        f"{numbers.unique_images:,}",
        "N/A" if numbers.density is None else percent(numbers.density, 1),
    )


def _show_rows(rows: list[tuple[str, ...]], below: list[tuple[str, ...]]) -> None:
    """A table in which no word is broken: a name for which there is no room has a line of its own above its numbers."""
    from rich.cells import cell_len

    console = output_console()
    every = [*HEADER, *rows, *below]
    widths = [max(map(len, column)) + GAP for column in list(zip(*every, strict=True))[1:]]
    names = [cell_len(name) for name, *_ in every]
    first = max((length for length in names if length + sum(widths) <= console.width), default=0)
    if not first:
        widths[0] -= GAP

    def show(rows: Iterable[tuple[str, ...]], style: str) -> None:
        for name, *cells in rows:
            label = name if cell_len(name) <= first else ""
            if label != name:
                _show_line(console, name, style)
            numbers = "".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
            _show_line(console, label + " " * (first - cell_len(label)) + numbers, style)

    rule = ("-" if console.options.ascii_only else "─") * (first + sum(widths))
    show(HEADER, "bold")
    _show_line(console, rule, "")
    show(rows, "")
    if below:
        _show_line(console, rule, "")
        show(below, "dim")


def _show_line(console: Console, text: str, style: str) -> None:
    """One line, as long as it is: rich would break it within words."""
    from rich.text import Text

    console.print(Text(text.rstrip(), style), no_wrap=True, overflow="ignore", crop=False)


def _published() -> list[tuple[str, ...]]:
    """The rows of Table 1, with mean and maximum where the supplement has them."""
    from iconotext.corpus.published_sizes import TABLE_1

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


def _show_relations(found: Found, names: Sequence[str]) -> None:
    """Positive rates of coherence relations, a column for each corpus that has any, and the published ones."""
    from rich.measure import Measurement

    having = {name: numbers for name, (_, numbers) in zip(names, found, strict=True) if numbers.relations}
    if not having:
        return
    console = output_console()
    table = _relations_table(having, list(having))
    if Measurement.get(console, console.options.update(max_width=sys.maxsize), table).maximum <= console.width:
        console.print(table)
        return
    for name, numbers in having.items():  # side by side there is no room for their names
        _show_line(console, name, "bold")
        console.print(_relations_table({name: numbers}, ["corpus"]))


def _relations_table(having: dict[str, CorpusStats], headers: list[str]) -> Table:
    """Relations of some corpora, a column for each under its header."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from iconotext.papers.published import published_rates

    published = published_rates()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("relation", no_wrap=True)
    for header in headers:
        table.add_column(Text(header), justify="right", no_wrap=True)
    table.add_column("published", justify="right", no_wrap=True)
    for relation in dict.fromkeys(relation for numbers in having.values() for relation in numbers.relations):
        cells = []
        for numbers in having.values():
            answered = numbers.relations.get(relation)
            rate = answered.rate if answered is not None else None
            cells.append("" if answered is None or rate is None else f"{percent(rate, 1)} of {answered.known:,}")
        table.add_row(Text(relation), *cells, percent(published[relation] / 100, 1) if relation in published else "")
    return table


def _show_histograms(numbers: CorpusStats, name: str) -> None:
    """Two bar charts side by side: documents by their number of sentences, and of images."""
    from rich.table import Table

    from iconotext.corpus.histogram import bins

    console = output_console()
    _show_line(console, name, "bold")
    chart = Table(box=None, pad_edge=False)
    columns = []
    for what, sizes in (("sentences", numbers.sentences), ("images", numbers.images)):
        chart.add_column(what, justify="right", no_wrap=True)
        chart.add_column("documents", no_wrap=True)
        found = bins(sizes.histogram, ROWS)
        label = max(len(what), *(len(each.label) for each in found))
        number = max(len(f"{each.count:,}") for each in found)
        room = console.width // 2 - label - number - 6
        columns.append(_bars(found, min(max(room, 4), BAR), plain=console.options.ascii_only))
    left, right = columns
    for i in range(max(len(left), len(right))):
        chart.add_row(*(left[i] if i < len(left) else ("", "")), *(right[i] if i < len(right) else ("", "")))
    console.print(chart)


def _bars(found: list[Bin], width: int, *, plain: bool) -> list[tuple[str, str]]:
    """Label, and bar with its number, of each bin; the longest, of ``width`` characters, has the largest number."""
    largest = max(each.count for each in found)
    rows = []
    for each in found:
        eighths = -(-each.count * width * 8 // largest)  # rounded up: one document is to be seen
        whole, part = divmod(eighths, 8)
        bar = "#" * -(-eighths // 8) if plain else "█" * whole + EIGHTHS[part].strip()
        rows.append((each.label.replace("–", "-") if plain else each.label, f"{bar} {each.count:,}".lstrip()))
    return rows


def _splits(numbers: CorpusStats) -> str:
    """Documents of each split, or their number where there are no splits."""
    if set(numbers.splits) <= {"none"}:
        return f"{numbers.documents:,}"
    parts = "/".join(f"{numbers.splits.get(name, 0):,}" for name in ("train", "validation", "test"))
    rest = numbers.splits.get("none", 0)
    return f"{parts} + {rest:,}" if rest else parts
