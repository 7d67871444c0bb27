"""The commands that README and guides show are commands that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from iconotext.cli.app import app

ROOT = Path(__file__).parents[1]
PROGRAM: Any = typer.main.get_command(app)
SHOWN = [
    pytest.param(line.strip(), id=f"{path.name}: {line.strip()[:60]}")
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    if re.match(r" {4}iconotext ", line) and " NAME " not in line
]


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_that_is_shown_exists_with_its_options(line):
    words = shlex.split(line, comments=True)[1:]
    command, options = PROGRAM, {"--help", "--version", "--install-completion", "--show-completion"}
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
        options = {name for option in command.params for name in option.opts}
    assert [word for word in words if word.startswith("-") and word.split("=")[0] not in options] == []
    assert command is not PROGRAM or words[0] in options


def test_they_are_found():
    assert len(SHOWN) > 60


def test_the_picture_of_the_architecture_has_every_folder():
    drawn = (ROOT / "docs/images/architecture.svg").read_text(encoding="utf-8")
    folders = [path.parent.name for path in (ROOT / "src/iconotext").glob("*/__init__.py")]
    missing = [name for name in folders if f"{name}/<" not in drawn]
    assert missing == [], "python scripts/draw_architecture.py"


def test_files_that_the_guides_for_contributors_name_are_there():
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "docs/architecture.md")]
    named = {name for text in texts for name in re.findall(r"`([\w/.]+(?:/|\.py|\.md))`", text)}
    homes = (ROOT, ROOT / "src/iconotext")
    assert [name for name in sorted(named) if not any((home / name).exists() for home in homes)] == []
