from __future__ import annotations

import sys

import pytest

from iconotext.cli.common import known_errors, progress
from iconotext.errors import DocumentError


def test_known_errors_end_with_one_line(capsys):
    with pytest.raises(SystemExit) as stopped, known_errors():
        raise DocumentError("a.md: the file is empty")
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "iconotext: a.md: the file is empty\n"


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
