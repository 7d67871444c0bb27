"""Reports on a terminal: a table too wide for it comes in several, the names in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from iconotext.cli.output import output_console
from iconotext.papers.render import Bold, Cell, Drawing, Grid, Note, Section

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

GAP = 2
"""Columns between two columns of a table."""


def show(sections: Iterable[Section]) -> None:
    """Print a report on stdout, a line between its parts."""
    console = output_console()
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
    head = [_text(each if isinstance(each, str) else f"{each[0]}: {each[1]}") for each in grid.columns]
    rows = [[_text(cell) for cell in row] for row in grid.rows]
    cells = [max([row[i].cell_len for row in rows] + [1]) for i in range(len(head))]
    widths = [max(name.cell_len, cell) for name, cell in zip(head, cells, strict=True)]
    if sum(widths) + GAP * (len(widths) - 1) > width:  # a header may break between words, a figure may not
        widths = [
            max([len(word) for word in name.plain.split()] + [cell]) for name, cell in zip(head, cells, strict=True)
        ]
    columns: list[int] = []
    used = widths[0]
    for column in range(1, len(head)):
        if columns and used + GAP + widths[column] > width:
            yield _table(head, rows, columns, widths)
            yield ""
            columns, used = [], widths[0]
        columns.append(column)
        used += GAP + widths[column]
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
