"""``iconotext alt-text draft``: the drafts, and what it writes."""

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


run = partial(program.run, "alt-text", "draft")


@pytest.fixture
def article(tmp_path, picture):
    picture("one.png", seed=1)
    picture("two.png", seed=2)
    path = tmp_path / "article.md"
    path.write_text(ARTICLE)
    return path


@pytest.mark.slow
def test_drafts_are_shown_printed_and_written(article, tmp_path):
    (draft,) = json.loads(run(article, "--json").stdout)
    assert (draft["id"], draft["text"], draft["draft"]) == ("article:0", DRAFT, True)
    (quote,) = draft["sentences"]
    assert ARTICLE[quote["source_start"] : quote["source_end"]] == quote["text"]
    shown = run(article).stdout
    assert DRAFT in shown
    assert "article:0" in shown
    assert article.read_text() == ARTICLE
    assert "--yes writes without asking" in run(article, "--write", status=1).stderr
    assert article.read_text() == ARTICLE
    written = run(article, "--write", "--yes", "--accept", "article:0")
    assert f"+![{DRAFT}](one.png)" in written.stdout
    assert "Wrote 1 alternative text" in written.stderr
    assert article.read_text() == ARTICLE.replace("![](one.png)", f"![{DRAFT}](one.png)")
    assert json.loads(run(article, "--json").stdout) == []
    assert "No drafts" in run(article).stderr


@pytest.mark.slow
def test_other_languages_are_said(tmp_path, picture):
    picture("one.png", seed=1)
    path = tmp_path / "a.md"
    path.write_text(
        "# Bahn\n\nDas Bild unten zeigt eine rote Bahn, die am Ufer des Flusses steht und wartet.\n\n![](one.png)\n"
    )
    result = run(path, "--json", "--language", "de")
    assert json.loads(result.stdout) == []
    assert "drafts are made of English sentences alone; none for documents in other languages: 1 de" in result.stderr


def drafts_file(article, **changes):
    draft = Draft("article:0", str(article), digest(article.read_bytes()), 0, "one.png", DRAFT, True, 0.9, 0.5, ())
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
        (["a.md", "--epub", "chapters"], "as a whole"),
        (["a.md", "--relations", "none"], "leave --relations out"),
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
