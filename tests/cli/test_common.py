from __future__ import annotations

import sys

import pytest

from iconotext.cli.common import WIDE, known_errors, output_console, parse_settings, progress
from iconotext.errors import DocumentError, SettingError
from iconotext.read import ReadSettings


def test_known_errors_end_with_one_line(capsys):
    with pytest.raises(SystemExit) as stopped, known_errors():
        raise DocumentError("a.md: the file is empty")
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "iconotext: a.md: the file is empty\n"


def test_a_misspelt_setting_is_guessed():
    with pytest.raises(SettingError, match="did you mean min_side"):
        parse_settings(["min_sides=3"], ReadSettings)
    with pytest.raises(SettingError, match=r"^(?!.*mean)"):
        parse_settings(["colour=red"], ReadSettings)


def test_tables_are_wide_where_they_go_to_a_file(monkeypatch):
    assert output_console().width == WIDE


def test_interruption_is_no_traceback(capsys):
    with pytest.raises(SystemExit) as stopped, known_errors():
        raise KeyboardInterrupt
    assert stopped.value.code == 130
    assert capsys.readouterr().err.startswith("iconotext: stopped")


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_passes_everything_on_and_shows_itself_on_terminals_only(capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress(iter("abc"), total=3, label="Linking")) == ["a", "b", "c"]
    assert bool(capsys.readouterr().err) is terminal
