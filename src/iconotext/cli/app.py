"""The program ``iconotext``: its own options, and the setup that all commands share. ``main`` runs it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from iconotext import __version__
from iconotext.cli.commands import HELP, MANAGES, READS, Group, inside
from iconotext.cli.common import end_soon_when_interrupted, known_errors
from iconotext.cli.output import say
from iconotext.system.worker import start_worker

app = typer.Typer(
    name="iconotext",
    cls=Group,
    help="Find which sentences of a document each of its pictures belongs to.\n\n**Examples**\n\n"
    "- `iconotext link article.md`\n- `iconotext link --help`",
    epilog="Options may also come from variables (`ICONOTEXT_LINK_MODEL`) and from files: `iconotext.toml` in the "
    f"working folder, `{typer.get_app_dir('iconotext')}/iconotext.toml` for all folders.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": HELP, "max_content_width": 100},
)


def _print_version(value: bool) -> None:
    if value:
        say(f"iconotext {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Run the program."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # no telemetry, even with --download
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command in inside("") and command not in MANAGES:
        end_soon_when_interrupted()
    if command in READS and len(sys.argv) > 2 and not set(HELP) & set(sys.argv):
        with known_errors():
            start_worker("iconotext.read.markdown")  # it gets ready while the rest is imported
    app(prog_name="iconotext")  # also where it is `python -m iconotext`
