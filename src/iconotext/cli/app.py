"""The program ``iconotext``: its commands and what holds for all of them."""

from __future__ import annotations

import os
import sys
from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from iconotext import __version__
from iconotext.cli.common import end_soon_when_interrupted, known_errors
from iconotext.cli.config import configured
from iconotext.cli.output import say
from iconotext.system.worker import start_worker

CALLED = {
    "<bool>": "",
    "<dir>": "FOLDER",
    "<file>": "FILE",
    "<float>": "NUMBER",
    "<float range>": "NUMBER",
    "<int>": "N",
    "<int range>": "N",
    "<list[Path]>": "PATH",
    "<list[str]>": "TEXT",
    "<path>": "PATH",
    "<str>": "TEXT",
}
"""Typer's name of a type to the one in the help."""

HELP = ["-h", "--help"]
"""The options that show help."""


def name_types(command: Any) -> None:
    """Use plain names of types in a command's help."""
    context = typer.Context(command, help_option_names=HELP)
    for param in [*command.params, command.get_help_option(context)]:
        if hasattr(param, "display_type_rich"):  # which older versions of Typer have not, nor such names
            shown = param.display_type_rich(context)
            # An argument has its name, and with it all that there is to say.
            name = "" if param.param_type_name == "argument" else CALLED.get(shown, shown.strip("<>"))
            param.display_type_rich = lambda ctx, name=name: name


@dataclass(frozen=True)
class LazyCommand:
    """The place of a command.

    Attributes:
        place: Its module in ``iconotext.cli`` and the name of its function, or of the ``Typer`` of a group of commands.
        help: Its text in the list of commands.
        panel: Its heading in that list; None for "Commands".
        reads: Whether it reads documents.
    """

    place: str
    help: str
    panel: str | None = None
    reads: bool = False

    def command(self, name: str) -> Any:
        """The function of the command, or the ``Typer`` of a group of commands."""
        module, _, attribute = self.place.partition(":")
        return getattr(import_module(f"iconotext.cli.{module}"), attribute)

    def load(self, name: str) -> Any:
        """Import the command, and use plain names of types in its help."""
        found = self.command(name)
        around = typer.Typer(rich_markup_mode="markdown")
        if isinstance(found, typer.Typer):
            around.add_typer(found, name=name)
        else:
            around.command(name)(found)
        command = get_group(around).commands[name]
        for each in (command, *_inside(command)):
            name_types(each)
        return command

    def shown(self, name: str) -> TyperCommand:
        """A stand-in for the command in a list."""
        return TyperCommand(name, help=self.help, rich_help_panel=self.panel, rich_markup_mode="markdown")


def lazy_group(commands: Mapping[str, LazyCommand]) -> type[TyperGroup]:
    """A class for ``Typer(cls=...)``: a group of these commands, in order."""

    class LazyGroup(TyperGroup):
        listing = False
        """Whether commands are only being listed, so that they need not be imported."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = _Commands(commands)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return commands[cmd_name].shown(cmd_name) if self.listing else self.commands.get(cmd_name)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            name_types(self)
            self.listing = True
            super().format_help(ctx, formatter)

        def shell_complete(self, ctx: Any, incomplete: str) -> Any:
            self.listing = True
            found = super().shell_complete(ctx, incomplete)
            self.listing = False
            return found

    return LazyGroup


class _Commands(UserDict[str, Any]):
    """Commands by name; each is imported when it is accessed."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, LazyCommand):
            found = self.data[name] = found.load(name)
        return found


def _inside(command: Any) -> list[Any]:
    """All commands in a group; none for a lazy group, whose commands get plain names when they are imported."""
    commands = getattr(command, "commands", {})
    if isinstance(commands, _Commands):
        return []
    return [found for each in commands.values() for found in (each, *_inside(each))]


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
"""Commands that answer others or lead other processes, and take the time to end these."""

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
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # not even with --download
    if sys.argv[1:2] and sys.argv[1] not in ENDS_OTHERS:
        end_soon_when_interrupted()
    command = COMMANDS.get(sys.argv[1]) if len(sys.argv) > 2 else None
    if command and command.reads and not set(HELP) & set(sys.argv):
        with known_errors():
            start_worker("iconotext.read.markdown")  # it gets ready while the rest is imported
    app(prog_name="iconotext")  # also where it is `python -m iconotext`
