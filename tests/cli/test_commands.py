"""The table of commands, and commands of other packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from iconotext.cli import commands
from iconotext.cli.app import app
from iconotext.cli.commands import COMMANDS, MANAGES, READS, SHOWN, inside
from iconotext.extras import EXTRAS

CODE = """
def count(folder: str, twice: bool = False) -> None:
    "Count the files of a folder."
    import os
    from iconotext.errors import OutputError
    if not os.path.isdir(folder):
        raise OutputError(f"{folder}: not a folder")
    print(len(os.listdir(folder)) * (1 + twice))
"""


@pytest.fixture
def package(tmp_path, install_package):
    """Install a package with commands; returns a function that runs the program beside it."""
    (tmp_path / "broken.py").write_text("import nothing_like_it")
    install_package("counting", CODE, commands.PLUGINS, count="counting:count", broken="broken:work")
    return lambda *words: CliRunner().invoke(app, [*map(str, words)])


def test_the_tables_name_commands_that_there_are():
    paths = {row.path for row in COMMANDS}
    assert len(paths) == len(COMMANDS)
    assert set(SHOWN) | READS | MANAGES <= paths
    assert {row.group for row in COMMANDS} <= paths | {""}
    assert {row.extra for row in COMMANDS} <= set(EXTRAS) | {""}
    assert all(row.function or inside(row.path) for row in COMMANDS)
    assert all(row.summary.endswith((".", "?", ")")) for row in COMMANDS)


def test_a_command_of_another_package_runs_and_is_listed_without_being_imported(package, tmp_path, monkeypatch):
    shown = package("--help").output
    assert "For a test (counting)" in shown
    assert "counting" not in sys.modules
    assert package("count", tmp_path / "counting-1.0.dist-info", "--twice").output == "4\n"
    assert "Count the files of a folder." in package("count", "--help").output
    monkeypatch.setenv("ICONOTEXT_COUNT_TWICE", "yes")
    assert package("count", tmp_path / "counting-1.0.dist-info").output == "4\n"
    wrong = package("count", tmp_path / "none")
    assert (wrong.exit_code, wrong.stderr) == (1, f"iconotext: {tmp_path / 'none'}: not a folder\n")


def test_a_broken_command_of_another_package_costs_one_line(package):
    result = package("broken")
    assert result.exit_code == 2
    assert result.stderr.count("iconotext: broken of counting (iconotext.commands) is left out: ModuleNotFound") == 1
    assert "No such command 'broken'" in result.stderr
    assert package("cache", "--help").exit_code == 0


def test_a_group_of_another_package(package, tmp_path, monkeypatch):
    (tmp_path / "counting.py").write_text(
        f"{CODE}\nimport typer\ngroup = typer.Typer()\ngroup.command()(count)\n"
        "@group.callback()\ndef options() -> None: 'Count things.'\n"
    )
    entries = tmp_path / "counting-1.0.dist-info" / "entry_points.txt"
    entries.write_text(f"[{commands.PLUGINS}]\ncount = counting:group\nlink = counting:count\n")
    monkeypatch.delitem(sys.modules, "counting", raising=False)
    program: Any = typer.main.get_command(app)
    monkeypatch.delitem(program.commands.data, "count", raising=False)
    assert package("count", "count", tmp_path / "counting-1.0.dist-info").output == "2\n"
    assert "Find which sentences" in package("link", "--help").output  # our own commands stay ours


HELP_AND_WRONG_USAGE = """
import sys
from typer.testing import CliRunner
from iconotext.cli.app import app

def modules_after(*commands):
    for command in commands:
        CliRunner().invoke(app, command.split())
    print(*sys.modules)

modules_after("--help")
modules_after("link --help", "link", "nothing", "evaluate --help", "evaluate", "analyze curves")
modules_after("library add --help", "search --help", "search")
"""


@pytest.mark.slow
def test_help_and_wrong_usage_import_no_other_command_and_nothing_heavy():
    code = [sys.executable, "-c", HELP_AND_WRONG_USAGE]
    listing, *used = subprocess.run(code, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {Path(row.function.partition(":")[0]).name for row in COMMANDS if row.function}
    assert {f"iconotext.cli.{name}" for name in names} & set(listing.split()) == set()
    heavy = "lancedb lxml matplotlib numpy pandas PIL pyarrow scipy statsmodels torch".split()
    assert [name for modules in used for name in modules.split() if name in heavy] == []
