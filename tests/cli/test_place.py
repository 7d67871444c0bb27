"""``iconotext place``."""

from __future__ import annotations

import json

import pytest

from tests.support import program

run = program.run

ANSWER = "It rains.\n\nOn the *roof* of the depot sleeps a cat.\n"


@pytest.fixture
def folder(docs):
    (docs.parent / "answer.md").write_text(ANSWER)
    return docs.parent


def test_a_table_json_and_files(folder):
    shown = run("place", "answer.md", "docs")
    assert "two.png" in shown.stdout
    assert "its document links it with “A cat sleeps on the roof of the depot.”" in " ".join(shown.stdout.split())
    assert "Left out: gone.png: not found beside the document" in shown.stderr
    found = json.loads(run("place", "-", "docs/article.md", "--json", "--most", 1, input=ANSWER).stdout)
    assert [(each["picture"], each["sentence"]) for each in found["placed"]] == [("two.png", 1)]
    written = run("place", "answer.md", "docs", "-o", "out.md")
    assert written.stderr.startswith("Wrote out.md: 1 of 3 pictures placed\nLeft out 1: ")
    assert "\nLeft out 1: not found beside the document" in written.stderr
    assert (folder / "out.md").read_text() == f"{ANSWER}\n![A sleeping cat](<docs/two.png>)\n"
    assert "the option force replaces it" in run("place", "answer.md", "docs", "-o", "out.md", status=1).stderr
    assert run("place", "answer.md", "docs", "-o", "out.html", "--quiet").stdout == ""
    assert "data:image" in (folder / "out.html").read_text()


@pytest.mark.slow
def test_a_library(folder):
    pytest.importorskip("lancedb", reason="lancedb is not installed")
    run("library", "add", "lib", "docs")
    found = json.loads(run("place", "answer.md", "lib", "--json").stdout)
    assert [(each["alt"], each["sentence"]) for each in found["placed"]] == [("A sleeping cat", 1)]


def test_what_comes_on_standard_input(folder):
    assert "the name of a file: give the text itself" in run("place", "-", "docs", input="answer.md", status=1).stderr
    assert "standard input: not UTF-8" in run("place", "-", "docs", input=b"\xff\xfe\x00", status=1).stderr


def test_errors_are_one_line(folder):
    (folder / "empty.md").write_text("")
    for words, said in {
        ("empty.md", "docs"): "empty.md: the file is empty",
        ("answer.md", "gone.png"): "gone.png: no such file",
        ("answer.md", "gone.jsonl"): "gone.jsonl: cannot be read: No such file or directory",
        ("answer.md", "docs", "-o", "out.pdf"): "name a file that ends in .md",
        ("answer.md", "docs", "-o", "out.md", "--json"): "--json prints, and --output writes a file",
        ("answer.md", "docs", "--evidence", "smell"): "no evidence smell",
    }.items():
        (line,) = run("place", *words, status=None).stderr.splitlines()
        assert said in line
