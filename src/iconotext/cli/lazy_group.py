"""Groups of commands whose modules are imported only when needed, with plain names of types in their help.

``lazy_group`` makes a group from ``LazyCommand`` values.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

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
"""Typer's name of a type to the name in the help."""

HELP = ["-h", "--help"]
"""The options that show help."""


def name_types(command: Any) -> None:
    """Use plain names of types in a command's help."""
    context = typer.Context(command, help_option_names=HELP)
    for param in [*command.params, command.get_help_option(context)]:
        if hasattr(param, "display_type_rich"):  # which older versions of Typer have not, nor such names
            shown = param.display_type_rich(context)
            # An argument has no type in the help, since its name suffices.
            name = "" if param.param_type_name == "argument" else CALLED.get(shown, shown.strip("<>"))
            param.display_type_rich = lambda ctx, name=name: name


@dataclass(frozen=True)
class LazyCommand:
    """The module and help of a command that is imported when needed.

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
