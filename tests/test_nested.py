"""JSON and TOML of others that nest or name without end: one line, in a moment, wherever they are read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import iconotext
from iconotext.alt_text.drafts import read_drafts
from iconotext.check.audit import read_baseline
from iconotext.cli.config import _parsed
from iconotext.encoders.coherence_relations import SETTINGS_FILE, read_refinement
from iconotext.encoders.stored_model import METRICS, read_metrics
from iconotext.errors import IconotextError
from iconotext.library.settings import read_settings
from iconotext.read import read
from iconotext.recipe import load_recipe
from iconotext.system.strict_json import parse_json, parse_toml
from iconotext.train.prepared import META, open_prepared
from tests.support.program import run

SOURCE = Path(iconotext.__file__).parent
DEEP = 50_000
ARRAYS, OBJECTS = "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP
TOML = {
    "arrays": f"a = {ARRAYS}",
    "tables": f"a = {'{a = ' * DEEP}1{'}' * DEEP}",
    "a name": f"{'.'.join('a' * DEEP)} = 1",
    "a quoted name": f"{' . '.join(['a', chr(34) + 'a b' + chr(34)] * DEEP)} = 1",
    "the name of a table": f"[{'.'.join('a' * DEEP)}]",
}


@pytest.mark.parametrize("text", [ARRAYS, OBJECTS, OBJECTS.encode(), "1" * DEEP, "NaN", "[1, -Infinity]", b"\xff"])
def test_no_json_raises_anything_but_value_errors(text):
    with pytest.raises(ValueError, match=r"^not JSON"):
        parse_json(text)


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_no_toml_raises_anything_but_value_errors(text):
    with pytest.raises(ValueError, match=r"^not TOML that can be read: (nested too deeply|a name has too many parts)$"):
        parse_toml(text)


def test_usual_names_are_read():
    assert parse_toml('a.b."c.d" . e = 1\n[a.f]\ng = "1.2.3.4"') == {
        "a": {"b": {"c.d": {"e": 1}}, "f": {"g": "1.2.3.4"}}
    }


READERS = {
    "drafts.json": read_drafts,
    "baseline.json": read_baseline,
    "notebook.ipynb": read,
    "recipe.toml": load_recipe,
    "settings.toml": lambda path: _parsed(path, path.read_text()[:16_000]),
    SETTINGS_FILE: lambda path: read_refinement(path.parent),
    METRICS: lambda path: read_metrics(path.parent),
    META: lambda path: open_prepared(path.parent),
    "library.json": lambda path: read_settings(path.parent),
}


@pytest.mark.parametrize("name", READERS)
def test_whatever_reads_a_file_says_so_in_one_line(tmp_path, name):
    path = tmp_path / name
    for text in TOML.values() if path.suffix == ".toml" else (ARRAYS, OBJECTS):
        path.write_text(text, encoding="ascii")
        with pytest.raises(IconotextError) as error:
            READERS[name](path)
        assert str(tmp_path) in str(error.value)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 500


def test_the_commands_say_it_in_one_line(tmp_path):
    (tmp_path / "drafts.json").write_text(ARRAYS)
    (tmp_path / "recipe.toml").write_text(TOML["arrays"])
    for command in (
        ["alt-text", "draft", "--write", "--from", str(tmp_path / "drafts.json")],
        ["train", str(tmp_path / "recipe.toml"), "-c", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "model")],
    ):
        done = run(*command, status=1)
        assert done.stderr.count("\n") == 1
        assert "nested too deeply" in done.stderr


OWN = {
    "system/strict_json.py",
    "corpus/builders/report.py",  # what was dumped in the same expression
    *("evidence/habit.py", "decide/measured.py", "decide/combine.py"),  # tables in the package
    "features/cached_backbones.py",  # the cache, which checks each value's digest
}
"""Modules with a parser for texts that nobody else wrote."""


def test_files_are_parsed_in_one_way():
    other = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "json.load",
                "json.loads",
                "json.JSONDecoder",
                "tomllib.load",
                "tomllib.loads",
                "yaml.load",
                "yaml.safe_load",
            ):
                other.add(path.relative_to(SOURCE).as_posix())
    other = {name for name in other if not name.startswith("serve/")}  # rows and files of the server's own folder
    assert other == OWN
