"""The program ``iconotext``: its list of commands, its own options, and the setup that all commands share.

``main`` runs it.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from iconotext import __version__
from iconotext.cli.common import end_soon_when_interrupted, known_errors
from iconotext.cli.config import configured
from iconotext.cli.lazy_group import HELP, LazyCommand, lazy_group
from iconotext.cli.output import say
from iconotext.system.worker import start_worker

COMMANDS = {
    "link": LazyCommand("link:link", "Find which sentences each picture belongs to.", reads=True),
    "context": LazyCommand("excerpts:context", "Give for each picture the sentences that talk about it.", reads=True),
    "chunks": LazyCommand(
        "excerpts:chunks", "Cut documents into chunks for retrieval, with their pictures.", reads=True
    ),
    "alt-text": LazyCommand(
        "alt_text:alt_text", "Check the alternative texts of documents, and draft those that are missing.", reads=True
    ),
    "demo": LazyCommand("demo:demo", "Write an example article with photographs and link it.", reads=True),
    "search": LazyCommand(
        "search:search",
        "Find pictures by what they show, by what is said of them, and by how they stand to a sentence.",
    ),
    "serve": LazyCommand("serve:serve", "Read linked documents in the browser, and correct their links."),
    "train": LazyCommand("train:train", "Train a model on documents, without a labelled link."),
    "evaluate": LazyCommand("evaluate:evaluate", "Measure how well a model finds the gold links of a corpus."),
    "reproduce": LazyCommand(
        "reproduce:reproduce",
        "Train and evaluate every row of a results table of Hessel 2019, Li 2021 or Alikhani 2021.",
    ),
    "library": LazyCommand("library:library", "Make a library of pictures to search, and look into it."),
    "corpus": LazyCommand("corpus:corpus", "Check, count, convert, divide and build corpora."),
    "scale": LazyCommand("scale:scale", "Link many documents in shards, in many processes."),
    "analyze": LazyCommand(
        "analyze:analyze",
        "Look closer at models: examples, hard documents, training curves, and what people prefer.",
    ),
    "mcp": LazyCommand("mcp:mcp", "Answer a language model's questions about the documents of a folder (MCP)."),
    "cache": LazyCommand("cache:cache", "Say where the cache is, how large, and what is in it."),
}

ENDS_OTHERS = ("serve", "train", "reproduce", "scale", "mcp")
"""Commands that answer clients or manage other processes, and need time to end these."""

app = typer.Typer(
    name="iconotext",
    cls=lazy_group(COMMANDS),
    help="Find which sentences of a document each of its pictures belongs to.",
    epilog="Options may also come from variables (`ICONOTEXT_LINK_MODEL`) and from files: `iconotext.toml` in the "
    f"working folder, `{typer.get_app_dir('iconotext')}/iconotext.toml` for all folders.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": HELP},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"iconotext {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options of the program itself."""
    with known_errors():
        context.default_map = configured(context)


def main() -> None:
    """Run the program."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # no telemetry, even with --download
    if sys.argv[1:2] and sys.argv[1] not in ENDS_OTHERS:
        end_soon_when_interrupted()
    command = COMMANDS.get(sys.argv[1]) if len(sys.argv) > 2 else None
    if command and command.reads and not set(HELP) & set(sys.argv):
        with known_errors():
            start_worker("iconotext.read.markdown")  # it gets ready while the rest is imported
    app(prog_name="iconotext")  # also where it is `python -m iconotext`
