"""Output of commands: safe for terminals, and with options named as on the command line."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import typer

from iconotext.plain_text import json_text, readable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.table import Table

WIDE = 160
"""Width of tables that are not printed on a terminal."""

FOLDED = 10
"""Minimum width of a table's first column if there is little room."""

OPTIONS = (
    *(
        "allow_outside",
        "corpus",
        "dataset",
        "distractors",
        "download",
        "exclude",
        "features",
        "fetch",
        "force",
        "format",
        "from",
        "group",
        "images",
        "include",
        "max_bytes",
        "only",
        "only_found",
        "photographs",
        "picture",
        "pictures",
    ),
    *("pool", "refine", "relation", "root", "since", "source", "test", "test_on_validation", "until", "validation"),
)
"""Arguments in messages of the library that are options of commands."""

_ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(\.\.\.|[\w./-]*\w)")


def say(text: str = "", *, err: bool = False) -> None:
    """Print a line, or several, on stdout or stderr."""
    typer.echo(readable(text), err=err)


def complain(message: str) -> None:
    """Print a message as one line on stderr."""
    say(f"iconotext: {as_typed(' '.join(message.splitlines()))}", err=True)


def say_left_out(reasons: Iterable[tuple[str, str | None]]) -> None:
    """Print a line for each reason why something was left out, with the first names."""
    found: dict[str | None, list[str]] = {}
    for name, reason in reasons:
        found.setdefault(reason, []).append(name)
    for reason, names in found.items():
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
            return [Readable(each) for each in renderables]

    stream = sys.stderr if err else sys.stdout
    console = Console(stderr=err, width=None if stream.isatty() else WIDE, markup=False, emoji=False)
    console.push_render_hook(Hook())
    return console


def print_table(table: Table) -> None:
    """Print a table on stdout. If it is too wide, its first column is folded, but no ``no_wrap`` column."""
    from rich.measure import Measurement

    console = output_console()
    options = console.options.update(max_width=sys.maxsize)
    first, *others = table.columns
    for column in others:
        if column.no_wrap:
            cells = [column.header, *column.cells]
            column.min_width = max(Measurement.get(console, options, cell).maximum for cell in cells)
    first.max_width = FOLDED
    least = Measurement.get(console, options, table).minimum
    first.min_width, first.max_width = FOLDED, None
    console.width = max(console.width, least)
    console.print(table)


def as_typed(message: str) -> str:
    """A message of the library, with command-line options instead of arguments.

    ``force=True`` becomes ``--force``, ``root=...`` becomes ``--root``, ``pool=12`` becomes ``--pool 12``, and
    ``max_bytes=...`` becomes ``--max-bytes``.
    """
    return _ARGUMENT.sub(_typed, message)


def _typed(found: re.Match[str]) -> str:
    name, value = found.groups()
    flag = f"--{name.replace('_', '-')}"
    if value == "false":
        return f"--no-{flag[2:]}"
    return flag if value in ("True", "...") else f"{flag} {value}"
