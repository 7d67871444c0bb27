"""Entries of other packages: those that work are added, a broken one costs one line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from iconotext.system.plugins import plugins


@dataclass(frozen=True)
class Row:
    name: str


CODE = f"from {__name__} import Row\ngood = Row('good')\nbetter = Row('better')\nwrong = 3\nnameless = Row([])\n"
GROUP = "iconotext.of_a_test"


def test_entries_come_in_the_order_of_their_names(install_package, capsys):
    install_package("other_package", CODE, GROUP, b="other_package:good", a="other_package:better")
    assert plugins(GROUP, Row, ("ours",)) == (Row("better"), Row("good"))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("other_package:missing", "AttributeError"),
        ("no_such_module:x", "ModuleNotFoundError"),
        ("other_package:wrong", "its entry is of type int, not Row"),
        ("other_package:better", "the name better is taken"),
        ("other_package:nameless", "its name is of type list, not str"),
        ("exits:row", "SystemExit: 7"),
        ("shouts:row", "RuntimeError: [31mred"),
    ],
)
def test_a_broken_entry_costs_one_line_once(install_package, capsys, tmp_path, monkeypatch, target, reason):
    (tmp_path / "exits.py").write_text("raise SystemExit(7)")
    (tmp_path / "shouts.py").write_text("raise RuntimeError('\\x1b[31mred')")
    monkeypatch.syspath_prepend(tmp_path)
    install_package("other_package", CODE, GROUP, bad=target, good="other_package:good", other="other_package:good")
    assert plugins(GROUP, Row, ("better",)) == plugins(GROUP, Row, ("better",)) == (Row("good"),)
    line, second = capsys.readouterr().err.splitlines()
    assert line.startswith("iconotext: bad of other_package")
    assert reason in line
    assert second.endswith("other of other_package (iconotext.of_a_test) is left out: the name good is taken")
