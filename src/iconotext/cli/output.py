"""Output of commands: lines, JSON and tables that are safe for terminals, with library arguments shown as options.

``say`` and ``complain`` print lines, ``print_table`` and ``show`` tables and reports.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from iconotext.plain_text import json_text, readable
from iconotext.report.tables import Bold, Cell, Drawing, Grid, Note, Section

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

WIDE = 160
"""Width of tables that are not printed on a terminal."""

OPTIONS = tuple(
    """
    allow_outside allow_remote answer_tokens corpus dataset distractors download exclude features fetch force
    format from group images include max_bytes only only_found output photographs picture
    pictures pool relation root since source test test_on_validation until validation
    """.split()
)
"""Arguments in messages of the library that are options of commands."""

_ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(\.\.\.|[\w./-]*\w)")


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line, or several, on stdout or stderr."""
    typer.echo(readable(text), err=err)


def say_open(place: Path | str) -> None:
    """Print on stderr the page that was made, or the address of the server: what to open now."""
    say(f"Open {place}", err=True)


def complain(message: str) -> None:
    """Print a message as one line on stderr."""
    say(f"iconotext: {as_typed(' '.join(message.splitlines()))}", err=True)


def say_left_out(reasons: Iterable[tuple[str, str | None]]) -> None:
    """Print a line for each reason why something was left out, with the first names."""
    names_of: dict[str | None, list[str]] = {}
    for name, reason in reasons:
        names_of.setdefault(reason, []).append(name)
    for reason, names in names_of.items():
        say(f"Left out, because {reason}: {len(names):,} ({', '.join(names[:10])}{', ...' if len(names) > 10 else ''})")


def say_json(value: object) -> None:
    """Print a value as JSON on a line of stdout."""
    typer.echo(json_text(value))


def output_console(*, err: bool = False) -> Console:
    """The console for tables: as wide as the terminal; for files and pipes, wide enough for any table.

    Control characters are removed everywhere in tables, and ``[red]`` or ``:cat:`` are printed literally.
    """
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
    from rich.segment import Segment

    class Readable:
        def __init__(self, whole: ConsoleRenderable) -> None:
            self.whole = whole

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for segment in console.render(self.whole, options):
                yield segment if segment.control else Segment(readable(segment.text), segment.style)

    class Hook(RenderHook):
        def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
            return [Readable(renderable) for renderable in renderables]

    stream = sys.stderr if err else sys.stdout
    console = Console(stderr=err, width=None if stream.isatty() else WIDE, markup=False, emoji=False)
    console.push_render_hook(Hook())
    return console


def print_table(table: Table) -> None:
    """Print a table on stdout."""
    output_console().print(table)


def as_typed(message: str) -> str:
    """A message of the library, with command-line options instead of arguments.

    ``download=True`` becomes ``--download``, ``root=...`` becomes ``--root``, ``pool=12`` becomes ``--pool 12``, and
    ``answer_tokens=...`` becomes ``--answer-tokens``.
    """
    return _ARGUMENT.sub(_typed, message)


def _typed(match: re.Match[str]) -> str:
    name, value = match.groups()
    flag = f"--{name.replace('_', '-')}"
    if value == "False":
        return f"--no-{flag[2:]}"
    return flag if value in ("True", "...") else f"{flag} {value}"


GAP = 2
"""Columns between two columns of a table."""


def show(sections: Iterable[Section], *, err: bool = False) -> None:
    """Print a report on stdout or stderr, with an empty line between its parts."""
    console = output_console(err=err)
    for number, section in enumerate(sections):
        if number:
            console.print()
        for piece in fitted(section, console.width):
            console.print(piece)


def fitted(section: Section, width: int) -> Iterator[RenderableType]:
    """Printable pieces of a part of a report, ``width`` characters wide; none for drawings."""
    if isinstance(section, Drawing):
        return
    if isinstance(section, Note):
        yield _text(section.text)
        return
    if section.title:
        yield _text([Bold(section.title)])
        yield ""
    yield from _tables(section, width)
    for note in section.notes:
        yield ""
        yield _text(note)


def _tables(grid: Grid, width: int) -> Iterator[RenderableType]:
    """The header and the rows as tables that are not wider than the terminal, if their columns allow it."""
    head = [_text(c if isinstance(c, str) else f"{c[0]}: {c[1]}") for c in grid.columns]
    rows = [[_text(cell) for cell in row] for row in grid.rows]
    cells = [max([row[i].cell_len for row in rows] + [1]) for i in range(len(head))]
    widths = [max(name.cell_len, cell) for name, cell in zip(head, cells, strict=True)]
    # Rich would shorten or fold cells; instead, columns that do not fit go into a further table with the same names.
    if sum(widths) + GAP * (len(widths) - 1) > width:  # a header may break between words, a figure may not
        widths = [
            max([len(word) for word in name.plain.split()] + [cell]) for name, cell in zip(head, cells, strict=True)
        ]
    columns: list[int] = []
    total = widths[0]
    for column in range(1, len(head)):
        if columns and total + GAP + widths[column] > width:
            yield _table(head, rows, columns, widths)
            yield ""
            columns, total = [], widths[0]
        columns.append(column)
        total += GAP + widths[column]
    yield _table(head, rows, columns, widths)


def _table(
    head: Sequence[Text], rows: Sequence[Sequence[Text]], columns: Sequence[int], widths: Sequence[int]
) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    table.add_column(head[0], overflow="fold", vertical="bottom")
    for column in columns:
        table.add_column(head[column], justify="right", width=widths[column], vertical="bottom")
    for row in rows:
        table.add_row(row[0], *(row[column] for column in columns))
    return table


def _text(cell: Cell) -> Text:
    from rich.text import Text

    texts = [cell] if isinstance(cell, str) else cell
    return Text(" ").join(Text(text, "bold" if isinstance(text, Bold) else "") for text in texts)
