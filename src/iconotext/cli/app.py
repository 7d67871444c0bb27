"""The program ``iconotext``: its commands and what holds for all of them."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from iconotext import __version__
from iconotext.cli.analyze import analyze
from iconotext.cli.cache import cache
from iconotext.cli.common import known_errors
from iconotext.cli.config import configured
from iconotext.cli.corpus import corpus
from iconotext.cli.demo import demo
from iconotext.cli.evaluate import evaluate
from iconotext.cli.library import library
from iconotext.cli.link import link
from iconotext.cli.output import say
from iconotext.cli.plain_help import HELP, PlainGroup
from iconotext.cli.reproduce import reproduce
from iconotext.cli.search import search
from iconotext.cli.train import train

app = typer.Typer(
    name="iconotext",
    cls=PlainGroup,
    help="Find which sentences of a document each of its pictures belongs to.",
    epilog="Options may also come from variables (`ICONOTEXT_LINK_MODEL`) and from files: `iconotext.toml` in the "
    f"working folder, `{typer.get_app_dir('iconotext')}/iconotext.toml` for all folders.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": HELP},
)
app.command()(link)
app.command()(demo)
app.add_typer(library)
app.command()(search)
app.add_typer(corpus)
app.command()(train)
app.command()(evaluate)
app.command()(reproduce)
app.add_typer(analyze, name="analyze")
app.add_typer(cache)


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
    app(prog_name="iconotext")  # also where it is `python -m iconotext`
