"""``iconotext alt-text``: the alternative texts of documents."""

from __future__ import annotations

import typer

from iconotext.cli.lazy_group import LazyCommand, lazy_group

COMMANDS = {
    "check": LazyCommand("alt_text_check:check", "Find pictures without a good alternative text."),
    "draft": LazyCommand("alt_text_draft:draft", "Draft them from what the author says that a picture shows."),
}

alt_text = typer.Typer(
    cls=lazy_group(COMMANDS),
    help="Check the alternative texts of documents, and draft those that are missing.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
