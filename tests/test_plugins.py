"""Entries of other packages: those that work are added, a broken one costs one line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from iconotext.system.plugins import plugins


@dataclass(frozen=True)
class Row:
    name: str


def install(tmp_path, monkeypatch, **entries):
    """Put a package on the path whose entry points are named here, each with its code."""
    (tmp_path / "other_package.py").write_text(
        f"from {__name__} import Row\nbroken = None\ngood = Row('good')\nbetter = Row('better')\nwrong = 3\n"
    )
    folder = tmp_path / "other_package-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in entries.items()]
    (folder / "entry_points.txt").write_text("\n".join([f"[iconotext.{tmp_path.name}]", *lines]))
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"iconotext.{tmp_path.name}"


def test_entries_come_in_the_order_of_their_names(tmp_path, monkeypatch, capsys):
    group = install(tmp_path, monkeypatch, b="other_package:good", a="other_package:better")
    assert plugins(group, Row) == (Row("better"), Row("good"))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("other_package:missing", "AttributeError"),
        ("no_such_module:x", "ModuleNotFoundError"),
        ("other_package:wrong", "its entry is of type int, not Row"),
    ],
)
def test_a_broken_entry_costs_one_line_once(tmp_path, monkeypatch, capsys, target, reason):
    group = install(tmp_path, monkeypatch, bad=target, good="other_package:good")
    assert plugins(group, Row) == plugins(group, Row) == (Row("good"),)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("iconotext: bad of other-package")
    assert reason in line
