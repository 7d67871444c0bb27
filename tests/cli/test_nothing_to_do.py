"""Paths with nothing to read, and documents without pictures: one rule for every command that takes paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import run

COMMANDS = {
    "link": 1,
    "context": 1,
    "chunks": 1,
    "check": 2,  # its 1 says that something is to be mended
    "alt-text draft --captioner http://127.0.0.1:9/v1 --captioner-model seer": 1,
    "library add lib": 1,
    "corpus build folder --output c.jsonl --source": 1,
}
"""Commands that take documents, with the status of their errors."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


@pytest.mark.parametrize(("command", "status"), COMMANDS.items())
@pytest.mark.parametrize("names", [(), ("a.xyz", "b.xyz", "c", "node_modules/a.md")], ids=["empty", "others"])
def test_a_folder_in_which_nothing_is_read_is_an_error_that_says_what_is_there(folder, command, status, names):
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("something")
    said = run(*command.split(), "docs", status=status).stderr
    (line,) = [line for line in said.splitlines() if "no documents in docs" in line]
    if names:
        assert "3 files there, none of which is read (2 .xyz, 1 without suffix)" in line
        assert "folders left out: node_modules/" in line
    else:
        assert "no files there" in line
    assert "; read are " in line
    assert sorted(path.name for path in Path().iterdir()) == ["docs"]


@pytest.mark.parametrize("command", [each for each in COMMANDS if "corpus" not in each])
def test_documents_without_pictures_are_no_error_and_a_line_says_so(folder, command):
    (folder / "a.md").write_text("# Words\n\nOnly words, and no picture.\n")
    said = run(*command.split(), "docs").output
    assert "o pictures in 1 document" in said
    assert "Open " not in said


def test_a_folder_whose_pictures_are_in_a_library_may_be_empty(folder, picture):
    picture("docs/a.png", size=(90, 90))
    run("library", "add", "lib", "docs")
    (folder / "a.png").unlink()
    assert "1 removed" in run("library", "add", "lib", "docs").output
    assert run("library", "add", "lib", "docs").exit_code == 0
