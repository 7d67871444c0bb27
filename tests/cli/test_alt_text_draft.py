"""``iconotext alt-text draft``: what goes together, and drafts of a file that are written."""

from __future__ import annotations

import json
from functools import partial

import pytest

from iconotext.alt_text.drafts import Draft, row
from iconotext.alt_text.writing import digest
from tests.support import program

ARTICLE = """# Trams

Trams run in the town.

![](one.png)

*Figure 1: Line 4.*

Figure 1 shows a red tram at a stop beside the river. The driver drinks coffee.

## Cats

A cat sleeps on the roof. Nobody wakes it.

![](two.png)
"""
DRAFT = "A red tram at a stop beside the river"

CAPTIONER = ["--captioner", "http://127.0.0.1:9/v1", "--captioner-model", "seer"]

run = partial(program.run, "alt-text", "draft")


@pytest.fixture
def article(tmp_path, picture):
    picture("one.png", seed=1)
    picture("two.png", seed=2)
    path = tmp_path / "article.md"
    path.write_text(ARTICLE)
    return path


def drafts_file(article, **changes):
    draft = Draft("article:0", str(article), digest(article.read_bytes()), 0, "one.png", DRAFT, True, 0.9, ())
    path = article.with_name("drafts.json")
    path.write_text(json.dumps([row(draft) | changes]))
    return path


def test_drafts_changed_by_hand_are_written(article):
    drafts = drafts_file(article, text="A tram, red as it should be [really]")
    run("--write", "--from", drafts, "--yes", "--quiet")
    assert article.read_text() == ARTICLE.replace("![](one.png)", r"![A tram, red as it should be \[really\]](one.png)")
    assert "has changed since it was read" in run("--write", "--from", drafts, "--yes", status=1).stderr


def test_a_no_writes_nothing(article, monkeypatch):
    drafts = drafts_file(article)
    monkeypatch.setattr("iconotext.cli.alt_text.has_terminal", lambda: True)
    result = run("--write", "--from", drafts, input="n\n")
    assert "Write 1 alternative text into" in result.stderr
    assert article.read_text() == ARTICLE
    run("--write", "--from", drafts, input="y\n")
    assert f"![{DRAFT}](one.png)" in article.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the documents"),
        (["a.md", "--json", "--write"], "take one after the other"),
        ([*CAPTIONER, "a.md", "--epub", "chapters"], "as a whole"),
        (["a.md"], "--captioner URL --captioner-model NAME"),
        (["a.md"], "iconotext context --prompt"),
    ],
)
def test_what_does_not_go_together(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("Text.\n")
    assert message in run(*arguments, status=1).stderr


def test_from_takes_no_path(article):
    drafts = drafts_file(article)
    assert "no PATH" in run(article, "--write", "--from", drafts, status=1).stderr
    assert "no PATH" in run("--from", drafts, status=1).stderr
