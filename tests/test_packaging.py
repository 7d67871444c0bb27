"""What users get besides the wheel: the container's file, and the program of the executable."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from iconotext import __version__
from iconotext.cli.app import app

ROOT = Path(__file__).parents[1]
CONTAINER = ROOT / "packaging/Containerfile"
LINES = CONTAINER.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


def test_every_place_names_the_same_version_and_python():
    for project in ("", "packages/iconotext-papers", "packages/iconotext-check"):
        about = tomllib.loads((ROOT / project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert (about["version"], about["requires-python"]) == (__version__, ">=3.11")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__
    assert f"rev: v{__version__}\n" in (ROOT / "docs/check.md").read_text(encoding="utf-8")
    assert f"dist/iconotext-{__version__}-" in (ROOT / "docs/install.md").read_text(encoding="utf-8")
    badges = (ROOT / "docs/images/badges.svg").read_text(encoding="utf-8")
    assert {f">{__version__}<", ">3.11+<", ">MIT<"} <= set(re.findall(r">[^<>]+<", badges))
    assert f"![Version {__version__}, Python 3.11 or newer, MIT" in (ROOT / "README.md").read_text(encoding="utf-8")


def instruction(name):
    """The last instruction of a name."""
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{name} ")][-1]


def test_the_container_runs_as_nobody_special_and_its_command_exists():
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", instruction("USER"))
    assert "/v1/health" in instruction("HEALTHCHECK") or "/v1/health" in "".join(LINES)
    assert json.loads(instruction("ENTRYPOINT")) == ["iconotext"]
    name, *options = json.loads(instruction("CMD"))
    program: Any = typer.main.get_command(app)
    command = program.commands[name]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    assert {option for option in options if option.startswith("--")} <= known


def test_the_container_copies_files_that_are_there_and_not_ignored():
    ignored = (ROOT / "packaging/Containerfile.containerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[0] == "*"
    copied = [
        word for line in LINES if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    assert copied
    for path in copied:
        assert (ROOT / path).exists()
        assert f"!{path}" in ignored


def test_the_linter_of_containers_finds_nothing():
    if (linter := shutil.which("hadolint")) is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([linter, CONTAINER], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
def test_the_program_of_the_executable_stands_for_python_and_for_the_command():
    program = ROOT / "packaging/executable/program.py"
    code = "import sys; print(sys.argv)"
    done = subprocess.run([sys.executable, program, "-P", "-c", code, "a", "b"], capture_output=True, text=True)
    assert done.stdout == "['-c', 'a', 'b']\n"
    done = subprocess.run([sys.executable, program, "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("iconotext ")
