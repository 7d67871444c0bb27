"""The Markdown of our own tables on a terminal: a table too wide for it comes in several, the names in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

GAP = 2
"""Columns between two columns of a table."""


def fitted(markdown: str, width: int) -> Iterator[RenderableType]:
    """What to print, piece by piece; pictures are left out.

    Args:
        markdown: As ``evaluate.table`` and ``train.reproduce.section`` write it: paragraphs, bold text, and tables
            whose first column names the rows.
        width: Of the terminal, in characters.
    """
    rows: list[list[Text]] = []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("| "):
            rows.append([_text(cell) for cell in line.removeprefix("|").removesuffix("|").split("|")])
            continue
        if line.startswith("|---"):
            continue
        if rows:
            yield from _tables(rows, width)
            rows = []
        if not line.startswith("!["):
            yield _text(line)


def _tables(rows: Sequence[Sequence[Text]], width: int) -> Iterator[RenderableType]:
    """The header and the rows as tables that are not wider than the terminal, if their columns allow it."""
    head, *body = rows
    # A header may break between words, a figure may not.
    widths = [
        max([len(word) for word in name.plain.split()] + [cells[i].cell_len for cells in body] + [1])
        for i, name in enumerate(head)
    ]
    columns: list[int] = []
    used = widths[0]
    for column in range(1, len(head)):
        if columns and used + GAP + widths[column] > width:
            yield _table(rows, columns, widths)
            yield ""
            columns, used = [], widths[0]
        columns.append(column)
        used += GAP + widths[column]
    yield _table(rows, columns, widths)


def _table(rows: Sequence[Sequence[Text]], columns: Sequence[int], widths: Sequence[int]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    table.add_column(rows[0][0], overflow="fold", vertical="bottom")
    for column in columns:
        table.add_column(rows[0][column], justify="right", width=widths[column], vertical="bottom")
    for cells in rows[1:]:
        table.add_row(cells[0], *(cells[column] for column in columns))
    return table


def _text(source: str) -> Text:
    """Markdown as ``inline_text`` escapes it, bold between two pairs of asterisks."""
    from rich.text import Text

    text = Text()
    for number, part in enumerate(source.strip().split("**")):
        plain = unescape(re.sub(r"\\(.)", r"\1", part))
        text.append(plain, "bold" if number % 2 else None)
    return text
