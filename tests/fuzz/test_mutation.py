"""A few mutants of every format; ``python -m tests.fuzz.run``, which ``scripts/test --all`` runs too, reads many more of them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from iconotext.read import read
from iconotext.read.format import FORMATS as READ
from tests.fuzz.run import SUFFIXES, make, outcome, run
from tests.fuzz.seeds import seeds

MUTANTS = 10
FEW = 5
"""Of the formats for which pandoc is started anew each time."""
NEEDING_PANDOC = {row.name for row in READ if row.extra}
FORMATS = [pytest.param(name, marks=pytest.mark.slow) if name in NEEDING_PANDOC else name for name in SUFFIXES]


@pytest.mark.parametrize("format_", SUFFIXES)
def test_seeds_are_whole_documents(tmp_path, format_):
    for data in seeds(format_):
        path = tmp_path / f"a{SUFFIXES[format_][0]}"
        path.write_bytes(data)
        assert read(path).sentences


@pytest.mark.parametrize("format_", FORMATS)
def test_mutants_are_read_or_refused(tmp_path, format_):
    originals = seeds(format_)
    count = FEW if format_ in NEEDING_PANDOC else MUTANTS
    mutants = [make(format_, number, 0, originals) for number in range(count)]
    assert len({*mutants, *originals}) > 0.8 * count
    assert mutants[:5] == [make(format_, number, 0, originals) for number in range(5)]
    path = tmp_path / f"a{SUFFIXES[format_][0]}"
    wrong = {}
    for number, data in enumerate(mutants):
        path.write_bytes(data)
        wrong[number] = outcome(path)
    assert set(wrong.values()) == {None}, wrong


def broken(way):
    """A reader that goes wrong on every second mutant."""
    calls = []

    def reader(path, settings):
        calls.append(path)
        if len(calls) % 2 == 0:
            match way:
                case "raises":
                    raise LookupError("'hex' is not a text encoding")
                case "hangs":
                    while True:
                        pass
                case "fills memory":
                    bytearray(1 << 34)
                case _:
                    sys.exit(7)
        return []

    return reader


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("raises", "LookupError: 'hex' is not a text encoding (test_mutation.py:"),
        ("hangs", "takes more than 1 s"),
        ("fills memory", "MemoryError"),
        ("ends", "the process ended: exit 7"),
    ],
)
def test_what_goes_wrong_is_reported_and_the_rest_is_read(monkeypatch, way, said):
    reader = broken(way)
    module = import_module("iconotext.read")
    monkeypatch.setattr(module, "reader_of", lambda _format: reader)
    monkeypatch.setattr(module, "read_documents", lambda path, settings, **_: read_with(module, path, settings))
    found = list(run([("markdown", n) for n in range(3)], 0, {"markdown": [b"Text."]}, (1, 1_500)))
    assert [number for _, number, _, _ in found] == [0, 1, 2]
    assert found[0][2] is None
    assert said in (found[1][2] or "")


def read_with(module, path, settings):
    with module._errors_of(path):
        module.reader_of("markdown")(path, settings)
    yield path


@pytest.mark.slow
def test_the_command(tmp_path):
    command = [sys.executable, "-m", "tests.fuzz.run", "--only", "markdown:3", "--keep", str(tmp_path / "kept")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1 mutants read (markdown 1)" in done.stdout
    assert not (tmp_path / "kept").exists()
