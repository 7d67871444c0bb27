"""The help of the commands of the papers keeps what that of the program keeps."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from iconotext.cli.app import app
from tests.support.help_screens import faults, paths

PROGRAM: Any = typer.main.get_command(app)


@pytest.mark.parametrize("path", [*paths(PROGRAM.commands["papers"], "papers")], ids=" ".join)
def test_a_help_screen_is_short_and_plain_and_has_examples(path):
    assert faults(*path) == []
