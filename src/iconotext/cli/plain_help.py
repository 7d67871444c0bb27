"""Help texts that say PATH and N where Typer says ``<path>`` and ``<int range>``, and nothing beside a flag."""

from __future__ import annotations

from typing import Any

import typer

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
"""What Typer calls a type, and what the help says."""

HELP = ["-h", "--help"]
"""The options that show help."""


def name_types(command: Any) -> None:
    """Let the help of a command name all types in plain words."""
    context = typer.Context(command, help_option_names=HELP)
    for param in [*command.params, command.get_help_option(context)]:
        if hasattr(param, "display_type_rich"):  # which older versions of Typer have not, nor such names
            shown = param.display_type_rich(context)
            # An argument has its name, and with it all that there is to say.
            name = "" if param.param_type_name == "argument" else CALLED.get(shown, shown.strip("<>"))
            param.display_type_rich = lambda ctx, name=name: name
