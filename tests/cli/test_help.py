"""The help of every command: one line an option, examples, and no more than two pages of a terminal."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from iconotext.cli.app import app
from iconotext.cli.help import PlainHelp, Row
from tests.support.help_screens import entries, faults, help_of, paths

PROGRAM: Any = typer.main.get_command(app)
EVERY = [*paths(PROGRAM)]
every_command = pytest.mark.parametrize("path", EVERY, ids=" ".join)


@every_command
def test_a_help_screen_is_short_and_plain_and_has_examples(path):
    assert faults(*path) == []


def test_nine_of_ten_options_need_one_line():
    lines = [count for path in EVERY for count in entries(help_of(*path)).values()]
    assert lines.count(1) > 0.9 * len(lines)


SCREEN = """\
Usage: pets [OPTIONS] NAME

Keep a pet.

What it eats is no concern of ours, nor where it sleeps, as long as it is at
home when the night falls.

Example:
  pets Rex --kind dog

Arguments:
  NAME  What it is called

Options:
  -s, --size N               How large (default: 2; 1 to 9)
  --kind cat|dog             Which kind
  --[no-]tame                Whether it comes when it is called by its name, and
                             stays (default: on)
  --a-name-that-is-long FOLDER
                             Where (default: here)
  -h, --help                 Show this message and exit
"""


class Kind(StrEnum):
    CAT = "cat"
    DOG = "dog"


def test_a_screen_as_it_is_printed():
    class Plain(PlainHelp, TyperCommand):
        pass

    pets = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})

    @pets.command("pets", cls=Plain)
    def keep(
        name: Annotated[str, typer.Argument(help="What it is called.")],
        size: Annotated[int, typer.Option("--size", "-s", help="How large. In feet.", min=1, max=9)] = 2,
        kind: Annotated[Kind | None, typer.Option(help="Which `kind`.")] = None,
        tame: Annotated[bool, typer.Option(help="Whether it comes when it is called by its name, and stays.")] = True,
        where: Annotated[
            Path | None, typer.Option("--a-name-that-is-long", help="Where (default: here).", file_okay=False)
        ] = None,
    ) -> None:
        """Keep a pet.

        What it eats is no concern of ours, nor where it sleeps, as long as it is at home
        when the night falls.

        **Example**

        - `pets Rex --kind dog`
        """

    shown = CliRunner().invoke(pets, ["-h"], prog_name="pets", env={"COLUMNS": "120"}, color=True).output
    assert shown == SCREEN


def test_the_line_of_an_option_is_its_first_sentence_with_what_fits():
    row = Row("-k N", "Sentences for each picture (default: 3). With `top-k`.", limits="1 to 9")
    assert row.lines(60) == ["Sentences for each picture (default: 3; 1 to 9)"]
    assert row.lines(40) == ["Sentences for each picture (default: 3)"]  # limits need no line of their own
    assert Row("-k N", "Take some.", ("a", "b"), "default: a").lines(60) == ["Take some (a, b; default: a)"]
