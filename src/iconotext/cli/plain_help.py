"""Help texts that say PATH and N where Typer says ``<path>`` and ``<int range>``, and nothing beside a flag."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

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
"""What Typer calls a type, and what people do."""


HELP = ["-h", "--help"]
"""The options that show help."""


class PlainGroup(TyperGroup):
    """The program: a group of commands with the names of all types in plain words."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _rename(self)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; by now there are also the options that install completion."""
        _rename(self)
        super().format_help(ctx, formatter)


def _rename(command: Any) -> None:
    for each in getattr(command, "commands", {}).values():
        _rename(each)
    context = typer.Context(command, help_option_names=HELP)
    for param in [*command.params, command.get_help_option(context)]:
        if hasattr(param, "display_type_rich"):  # which older versions of Typer have not, nor such names
            shown = param.display_type_rich(context)
            # An argument has its name, and with it all that there is to say.
            name = "" if param.param_type_name == "argument" else CALLED.get(shown, shown.strip("<>"))
            param.display_type_rich = lambda ctx, name=name: name
