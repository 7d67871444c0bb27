from __future__ import annotations

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from iconotext.cli.app import app


def commands(command, *path):
    inside = getattr(command, "commands", {})
    return [each for name, sub in inside.items() for each in commands(sub, *path, name)] if inside else [path]


@pytest.mark.slow
@pytest.mark.parametrize("command", commands(get_command(app)), ids=" ".join)
def test_help_calls_types_by_plain_words(command):
    shown = CliRunner().invoke(app, [*command, "-h"], env={"COLUMNS": "200"}).stdout
    assert "--help" in shown
    assert not re.search(r"<(bool|path|dir|file|str|int|float|list|[a-z]+ range)", shown), shown
    assert re.search(r"--help +-h +Show", shown)


def test_help_of_the_program_calls_types_by_plain_words():
    shown = CliRunner().invoke(app, ["-h"], env={"COLUMNS": "200"}).stdout
    assert re.search(r"--install-completion +Install", shown)


def test_names_of_rules_are_whole_on_a_narrow_terminal():
    shown = CliRunner().invoke(app, ["link", "-h"], env={"COLUMNS": "80"}).stdout
    assert "threshold" in shown
