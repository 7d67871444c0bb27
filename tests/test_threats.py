"""docs/threats.md names tests that exist, and limits as they are."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and "---" not in line and "| test |" not in line]
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "min": 60}


def test_every_threat_has_a_test():
    assert len(ROWS) > 30
    assert [row for row in ROWS if "::test_" not in row.rsplit("|", 2)[1]] == []


def test_no_row_says_what_another_says():
    tests = [set(re.findall(r"::(\w+)`", row)) for row in ROWS]
    said = [row for row, own in zip(ROWS, tests, strict=True) if len(own) > 1 and any(own < each for each in tests)]
    assert said == []


@pytest.mark.slow
def test_every_named_test_exists():
    named = re.findall(r"`((?:packages/[\w-]+/)?tests/[\w/]+\.py)::(\w+)`", TEXT)
    assert len(named) == TEXT.count("::test_")
    missing = []
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8")) if (ROOT / file).is_file() else ast.Module([], [])
        if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
            missing.append(f"{file}::{name}")
    assert missing == []


def test_every_limit_is_as_it_says():
    stated = re.findall(r"(\d[\d,]*) ?([A-Za-z]+)? \(`([\w.]+)`\)", TEXT)
    assert len(stated) == len(re.findall(r"\(`iconotext\.[\w.]+`\)", TEXT)) > 5
    wrong = []
    for number, unit, name in stated:
        value = limit(name)
        if float(number.replace(",", "")) * UNITS.get(unit, 1) != value:
            wrong.append((number, unit, name, value))
    assert wrong == []


def limit(name: str) -> float:
    """A constant, or the default of a setting: ``iconotext.read.settings.ReadSettings.max_bytes``."""
    home, _, last = name.rpartition(".")
    if home.endswith("Settings"):
        module, _, kind = home.rpartition(".")
        settings: type[BaseModel] = getattr(import_module(module), kind)
        return float(settings.model_fields[last].default)
    return float(getattr(import_module(home), last))
