"""Options that are made from classes of settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from pydantic import BaseModel, ConfigDict, Field
from typer.testing import CliRunner

from iconotext.cli.app import app
from iconotext.cli.commands import SHOWN, ConfiguredCommand
from iconotext.cli.config import flag
from iconotext.cli.help import MORE
from iconotext.cli.options import Fields, settings_options

Kind = Literal["cat", "dog", "hen"]


class PetSettings(BaseModel):
    """All types of fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

    kinds: tuple[Kind, ...] = ("cat", "dog")
    """Which ``kinds`` there are."""
    size: Literal["small"] | Literal["large", 3] = "small"
    """How large."""
    legs: int = Field(4, ge=0, le=8)
    """How many legs."""
    share: float = Field(0.5, ge=0, lt=1)
    """Of all."""
    home: Path | None = None
    """Where."""
    names: tuple[str, ...] = ()
    """What they are called."""
    tame: bool = False
    """Whether they are."""
    fed: bool = True
    """Whether they are."""
    inner: dict[str, int] = Field({}, exclude=True)
    """No option."""


PETS = Fields()


def run(*arguments, panel=PETS, kind=PetSettings):
    """What a command gets: the settings and, of these, what was given."""
    got = []

    def feed(pets, seed=0):
        got.append(pets)

    feed.__annotations__ = {"pets": Annotated[kind, panel], "seed": int}
    program = typer.Typer(rich_markup_mode="markdown")
    program.command(cls=ConfiguredCommand)(settings_options(feed))
    result = CliRunner().invoke(program, [str(each) for each in arguments], env={"COLUMNS": "120"})
    return (got[0] if got else None), result


def test_without_options_nothing_is_set():
    pets, _ = run()
    assert pets == PetSettings()
    assert pets.model_fields_set == set()


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--kinds", "hen, cat"], "kinds", ("hen", "cat")),
        (["--kinds", "hen", "--kinds", "cat,dog"], "kinds", ("hen", "cat", "dog")),
        (["--size", "large"], "size", "large"),
        (["--size", "3"], "size", 3),
        (["--legs", "2"], "legs", 2),
        (["--share", "0.25"], "share", 0.25),
        (["--home", "farm"], "home", Path("farm")),
        (["--names", "Tom, Dick", "--names", "Harry"], "names", ("Tom, Dick", "Harry")),
        (["--tame"], "tame", True),
        (["--no-tame"], "tame", False),
        (["--no-fed"], "fed", False),
    ],
)
def test_an_option_sets_its_field(arguments, name, value):
    pets, result = run(*arguments)
    assert pets is not None, result.output
    assert getattr(pets, name) == value
    assert pets.model_fields_set == {name}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--kinds", "cat,dgo"], 2, "iconotext: --kinds: must be 'cat', 'dog' or 'hen', not 'dgo'; did you mean dog?"),
        (["--share", "1"], 2, "iconotext: --share: must be less than 1, not 1.0"),
        (["--legs", "9"], 2, "Invalid value for '--legs'"),
        (["--size", "huge"], 2, "Invalid value for '--size'"),
        (["--inner", "1"], 2, "No such option: --inner"),
    ],
)
def test_a_wrong_value_names_its_option(arguments, status, message):
    pets, result = run(*arguments)
    assert pets is None
    assert result.exit_code == status
    assert message in result.stderr


def test_the_panel_chooses_names_and_changes_options():
    panel = Fields(
        without=("home",),
        names={"legs": "pet-legs"},
        defaults={"tame": True},
        more={"names": {"metavar": "NAME"}},
    )
    pets, _ = run("--pet-legs", 3, panel=panel)
    assert (pets.legs, pets.tame) == (3, True)
    shown = run("--help", panel=panel)[1].output
    assert "NAME" in shown
    assert "--home" not in shown
    assert "Which kinds there are" in shown
    assert "there are (default: cat,dog)" in shown
    pets, _ = run(panel=Fields(only=("legs",)))
    assert pets == PetSettings()


def test_mistakes_of_a_command_show_at_once():
    with pytest.raises(TypeError, match="PetSettings has no horns"):
        run(panel=Fields(without=("horns",)))

    class Odd(BaseModel):
        point: complex = 0j

    with pytest.raises(TypeError, match=r"Odd\.point: no option for"):
        run(kind=Odd)


def commands(command, *path):
    inside = getattr(command, "commands", None)
    if inside is None:
        return [(path, command)]
    return [each for name, sub in inside.items() for each in commands(sub, *path, name)]


COMMANDS = commands(typer.main.get_command(app))
every_command = pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])


@every_command
def test_options_have_names_of_their_own_and_help(path, command):
    options = [each for each in command.params if each.param_type_name == "option"]
    assert [option.name for option in options if not option.help] == []
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    assert sorted(names) == sorted(set(names))


@every_command
def test_a_help_screen_shows_a_dozen_options_at_most_before_the_others(path, command):
    options = [each for each in command.params if each.param_type_name == "option"]
    first = [flag(each) for each in options if each.rich_help_panel is None]
    assert len(first) < 12  # and --help
    assert set(SHOWN.get(" ".join(path), "").split()) <= set(first)  # none is misspelt
    assert {each.rich_help_panel for each in options} <= {None, MORE}


@pytest.mark.parametrize(
    "command", [["link", "none.md"], ["evaluate", "random", "none.jsonl"], ["library", "add", "lib", "none"]]
)
def test_threads_hold_for_the_whole_program(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ICONOTEXT_THREADS", "7")  # and is put back afterwards
    assert CliRunner().invoke(app, [*command, "--threads", "3"]).exit_code != 0
    assert os.environ["ICONOTEXT_THREADS"] == "3"
