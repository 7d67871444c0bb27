"""What shells are told when somebody presses Tab."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from iconotext.cli.app import app

SHELLS = ["bash", "zsh", "fish"]


def offered(line: str, shell: str = "bash") -> list[str]:
    """What is offered behind a line, as the scripts of the shells ask for it."""
    words = line.split(" ")
    environment = {
        "_ICONOTEXT_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    result = CliRunner().invoke(app, [], env=environment, prog_name="iconotext")
    assert result.exit_code == 0, result.output
    if shell == "zsh":
        return [part.split('"')[1].replace("\\\\:", ":") for part in result.stdout.splitlines() if '"' in part]
    return [part.split("\t")[0] for part in result.stdout.splitlines() if part]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("iconotext li", ["link", "library"]),
        ("iconotext link --to js", ["json", "jsonl"]),
        ("iconotext link --model ", ["default", "no-training"]),
        ("iconotext link --evidence picture,la", ["picture,layout"]),
        ("iconotext link --min-c", ["--min-confidence"]),
        ("iconotext search lib sentence --relation st", ["story"]),
        ("iconotext train hessel2019/t", ["hessel2019/top-k"]),
        ("iconotext train --init de", ["default"]),
        ("iconotext evaluate no", ["no-training"]),
    ],
)
def test_commands_options_and_values(shell, line, values):
    found = offered(line, shell)
    assert [value for value in values if value not in found] == []
    assert [value for value in found if not value.startswith(line.split(" ")[-1])] == []


@pytest.mark.parametrize("line", ["iconotext link art", "iconotext link --model my-", "iconotext train my-"])
def test_nothing_is_offered_where_files_are_meant(line):
    assert offered(line) == []


@pytest.fixture
def home(tmp_path) -> Path:
    """A home folder, with the program on the path."""
    program = tmp_path / "bin" / "iconotext"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m iconotext "$@"\n')
    program.chmod(0o755)
    (tmp_path / ".config").mkdir()
    return tmp_path


def in_shell(shell: str, home: Path, command: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(home), "PATH": path, "XDG_CONFIG_HOME": str(home / ".config")}
    done = subprocess.run([shell, "-c", command], env=environment, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/iconotext.sh"),
        ("zsh", ".zfunc/_iconotext"),
        ("fish", ".config/fish/completions/iconotext.fish"),
    ],
)
def test_installed_for_the_shell_that_asks(home, shell, file):
    shown = in_shell(shell, home, "iconotext --show-completion; true")
    assert f"complete_{shell}" in shown
    in_shell(shell, home, "iconotext --install-completion; true")
    assert (home / file).read_text().strip() == shown.strip()


@pytest.mark.slow
def test_bash_asks_and_is_answered(home):
    asked = """
        eval "$(iconotext --show-completion)"
        COMP_WORDS=(iconotext link --to j) COMP_CWORD=3
        _iconotext_completion iconotext
        echo "${COMPREPLY[@]}"
    """
    assert in_shell("bash", home, asked).split() == ["json", "jsonl"]


@pytest.mark.slow
def test_fish_asks_and_is_answered(home):
    asked = "iconotext --show-completion | source; complete --do-complete 'iconotext link --to j'"
    assert in_shell("fish", home, asked).split() == ["json", "jsonl"]
