from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys

import pytest

from iconotext.cli import common
from iconotext.cli.common import known_errors, progress
from iconotext.cli.output import WIDE, output_console
from iconotext.errors import DocumentError, SettingError
from iconotext.read import ReadSettings
from iconotext.recipe.toml import make_settings


def test_known_errors_end_with_one_line(capsys):
    with pytest.raises(SystemExit) as stopped, known_errors():
        raise DocumentError("a.md: the file is empty")
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "iconotext: a.md: the file is empty\n"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"min_side": "abc"}, "min_side: must be a whole number, not 'abc'"),
        ({"min_side": 0}, "min_side: must be greater than or equal to 1, not 0"),
        ({"captions": "perhaps"}, "captions: must be true or false, not 'perhaps'"),
        ({"epub": "chapter"}, "epub: must be 'book' or 'chapters', not 'chapter'; did you mean chapters?"),
        ({"language": "xx"}, "language: 'xx' is no ISO 639-1 code; such are de, en, fr"),
        ({"language": "japanese"}, "language: 'japanese' is no ISO 639-1 code; such are de, en, fr"),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(values, said):
    with pytest.raises(SettingError, match=f"^{re.escape(said)}$"):
        make_settings(ReadSettings, values)
    assert make_settings(ReadSettings, {"language": "pt-BR"}).language == "pt"


def test_tables_are_wide_where_they_go_to_a_file(monkeypatch):
    assert output_console().width == WIDE


def test_interruption_is_no_traceback(capsys):
    with pytest.raises(SystemExit) as stopped, known_errors():
        raise KeyboardInterrupt
    assert stopped.value.code == 130
    assert capsys.readouterr().err.startswith("iconotext: stopped")


@pytest.mark.skipif(sys.platform == "win32", reason="nobody sends it there")
def test_who_ends_a_command_from_outside_gets_the_same_line(capsys):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as stopped, known_errors():
        signal.raise_signal(signal.SIGTERM)
    assert stopped.value.code == 143
    assert capsys.readouterr().err.startswith("iconotext: stopped")
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_interrupted_command_says_whether_it_goes_on(capsys):
    with pytest.raises(SystemExit), known_errors(goes_on=True):
        raise KeyboardInterrupt
    said = "iconotext: stopped; whatever was written is complete, and the same command goes on from there\n"
    assert capsys.readouterr().err == said


def test_an_interruption_is_told_by_the_block_that_is_open(capsys):
    def work():
        with pytest.raises(SystemExit), known_errors():
            raise SettingError("wrong")
        raise KeyboardInterrupt

    with pytest.raises(SystemExit), known_errors():
        work()
    assert capsys.readouterr().err == "iconotext: wrong\niconotext: stopped; whatever was written is complete\n"


BUSY = """
import hashlib, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from iconotext.cli import common
from iconotext.system.worker import run_isolated

def work():
    hashlib.pbkdf2_hmac("sha256", b"a", b"a", 2**31 - 1)  # native code, for an hour

common.GRACE = 0.1
common.end_soon_when_interrupted()
with common.known_errors():
    print("ready", flush=True)
    if sys.argv[1] == "native":
        work()
    if sys.argv[1] == "thread":
        with ThreadPoolExecutor(1) as pool:
            pool.submit(work).result()
    run_isolated(time.sleep, 2**30, 3600, 3600)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("where", ["native", "thread", "worker"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_program_ends_whatever_is_at_work(where, number):
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=600)
    assert (process.returncode, said) == (128 + number, "iconotext: stopped; whatever was written is complete\n")


def test_a_full_disk_that_a_library_meets_is_one_line(capsys):
    with pytest.raises(SystemExit) as stopped, known_errors():
        raise OSError(errno.ENOSPC, "No space left on device")
    assert stopped.value.code == 1
    assert capsys.readouterr().err.startswith("iconotext: cannot write a temporary file, or what is printed: No space")
    with pytest.raises(OSError, match="another"), known_errors():
        raise OSError(errno.EPERM, "another")


def test_progress_passes_everything_on_and_shows_a_bar_on_terminals(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress(iter("abc"), total=3, label="Linking")) == ["a", "b", "c"]
    assert "Linking" in capsys.readouterr().err


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(common, "monotonic", lambda: next(clock))
    assert list(progress(iter("abcde"), total=5, label="Linking")) == list("abcde")
    assert list(progress(iter("ab"), total=0, label="Reading")) == list("ab")
    assert capsys.readouterr().err.splitlines() == [
        "iconotext: Linking: 2 of 5, after 0:00:20",
        "iconotext: Linking: 4 of 5, after 0:00:40",
        "iconotext: Reading: 2, after 0:00:20",
    ]
