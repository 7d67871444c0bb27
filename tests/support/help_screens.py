"""The help screens of the program at 80 columns, and what each has to keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.testing import CliRunner

from iconotext.cli.app import app

LINES = 60
"""Maximum length of a help screen: two pages of a terminal."""


def paths(command: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command or group, and of all within it."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from paths(inner, *path, name)


def help_of(*path: str) -> str:
    """What ``--help`` prints on a terminal of 80 columns."""
    result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}, color=True)
    assert result.exit_code == 0, result.output
    return result.output


def entries(screen: str) -> dict[str, int]:
    """The options, arguments and commands of a help screen, each with its number of lines."""
    counts: dict[str, int] = {}
    for section in screen.split("\n\n"):
        heading, *lines = section.rstrip().split("\n")
        if heading in ("", "Usage:", "Example:", "Examples:") or not re.fullmatch(r"[^`.]+:", heading):
            continue
        name = ""
        for line in lines:
            name = line if re.match(r"  \S", line) else name
            counts[name] = counts.get(name, 0) + 1
    return counts


def faults(*path: str) -> list[str]:
    """What is wrong with the help of a command: it is long, wide or coloured, or lacks an example or a default."""
    screen = help_of(*path)
    lines = screen.splitlines()
    found = [f"{len(lines)} lines"] if len(lines) > LINES else []
    found += [f"wide: {line}" for line in lines if len(line) > 80]
    found += [f"{count} lines: {name}" for name, count in entries(screen).items() if count > 2]
    if nothing := re.findall(r".*default:\s*[;)].*|.*default:[^)]*default:.*", screen):
        found.append(f"no default, or two: {nothing}")
    if not re.search(rf"^Examples?:\n  .*iconotext {' '.join(path)}", screen, re.MULTILINE):
        found.append("no example")
    return found + ["coloured"] * ("\x1b" in screen) + ["no entries"] * (not entries(screen))
