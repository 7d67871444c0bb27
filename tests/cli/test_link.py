from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from iconotext import __version__
from tests.support import program
from tests.support.program import printed as run


@pytest.fixture
def article(tmp_path, picture) -> Path:
    picture("one.png", seed=1)
    picture("two.png", seed=2)
    path = tmp_path / "article.md"
    path.write_text(
        "# Trams\n\nA red tram waits at the stop. The driver drinks coffee. Figure 1 shows it.\n\n"
        "![A red tram at a stop](one.png)\n*Figure 1: A red tram.*\n\n"
        "A cat sleeps on the roof of the depot. Nobody wakes it.\n\n![A sleeping cat](two.png)\n"
    )
    return path


def test_pages_and_table(article, tmp_path):
    output = run("link", article, "--output", tmp_path / "pages")
    assert (tmp_path / "pages" / "article.html").stat().st_size > 1000
    assert "one.png" in output
    run("link", article, "--output", tmp_path / "one.html")
    assert (tmp_path / "one.html").is_file()


def test_a_language_that_the_model_does_not_know_is_told_once(tmp_path, picture):
    picture("a.png")
    for name in ("waħda", "tnejn"):
        text = f"It-tavla {name} l-ewwel tinqata' u mbagħad tiġi llixxata sakemm it-truf kollha tagħha jkunu tassew lixxi u nodfa. "
        (tmp_path / f"{name}.md").write_text(f"{text}Ara Figura 1 għal dan ix-xogħol.\n\n![Figura 1: tavla](a.png)\n")
    result = program.run("link", tmp_path, "--to", "json")
    told = [line for line in result.stderr.splitlines() if "does not know" in line]
    assert [line.partition(": pictures and captions were not")[0] for line in told] == [
        f"iconotext: {tmp_path / 'tnejn.md'}: the text is in Maltese, which the model does not know",
        "Documents in languages that the model does not know: 2 in Maltese",
    ]
    assert "An encoder that knows Maltese helps: the option text names one" in told[0]
    for linked in json.loads(result.stdout):
        assert linked["language"] == "mt"
        assert "pictures and captions were not compared" in linked["notes"][0]
        assert linked["links"][0]["sentence"] == 1
    quiet = program.run("link", tmp_path, "--to", "json", "--quiet")
    assert quiet.stderr == ""
    assert quiet.stdout == result.stdout


def test_json_has_the_format_of_the_documentation(article):
    (linked,) = json.loads(run("link", article, "--to", "json"))
    assert linked["id"] == "article"
    assert linked["source"] == str(article)
    assert linked["model"] == "default"
    assert linked["sentences"][0] == {"text": "Trams", "block": 0, "heading": True, "kind": "heading", "level": 1}
    first = linked["images"][0]
    assert (first["source"], first["alt"], first["caption"], first["problem"]) == (
        "one.png", "A red tram at a stop", "Figure 1: A red tram.", None,
    )  # fmt: skip
    scores = [link["score"] for link in linked["links"]]
    assert scores == sorted(scores, reverse=True)
    best = {link["image"]: link for link in reversed(linked["links"])}
    texts = [s["text"] for s in linked["sentences"]]
    assert texts[best[0]["sentence"]] == "Figure 1 shows it."  # the text itself says so
    assert texts[best[1]["sentence"]] == "A cat sleeps on the roof of the depot."
    for link in linked["links"]:
        assert linked["similarity"][link["sentence"]][link["image"]] == link["score"]
        assert 0.1 <= link["confidence"] <= 1
    assert best[0]["evidence"]["reference"] > 0


@pytest.mark.slow
def test_evidence_can_be_switched_off(article):
    (linked,) = json.loads(run("link", article, "--to", "json", "--evidence", "picture", "--min-confidence", 0))
    assert {kind for link in linked["links"] for kind in link["evidence"]} == {"picture"}
    assert len(linked["links"]) == 6  # three sentences for each image
    (linked,) = json.loads(run("link", article, "--to", "json", "--k", "1", "--evidence", "layout,caption"))
    assert {kind for link in linked["links"] for kind in link["evidence"]} <= {"layout", "caption"}
    assert len(linked["links"]) <= 2


@pytest.mark.slow
def test_explain_says_what_carries_each_link(article, tmp_path):
    (linked,) = json.loads(run("link", article, "--to", "json", "--explain"))
    assert linked["links"]
    for link in linked["links"]:
        text = linked["sentences"][link["sentence"]]["text"]
        words = [text[begin:end] for begin, end, _ in link["explanation"]["words"]]
        assert words == text.replace(".", "").split()
        assert np.shape(link["explanation"]["regions"]) == (36, 5)
    (plain,) = json.loads(run("link", article, "--to", "json"))
    assert [{**link, "explanation": None} for link in linked["links"]] == [
        {**link, "explanation": None} for link in plain["links"]
    ]
    assert all("explanation" not in link for link in plain["links"])
    run("link", article, "--explain", "--output", tmp_path / "pages")
    assert 'id="why"' in (tmp_path / "pages" / "article.html").read_text(encoding="utf-8")
    assert "carried by" in run("link", article, "--explain", "--to", "markdown")
    assert "picture" in run("link", article, "--explain", "--evidence", "caption", status=2)


@pytest.mark.slow
def test_several_documents(article, tmp_path):
    (tmp_path / "plain.md").write_text("No picture here.")
    listed = json.loads(run("link", tmp_path, "--to", "json"))
    assert [d["id"] for d in listed] == ["article", "plain"]
    lines = run("link", tmp_path, "--to", "jsonl").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["article", "plain"]
    text = run("link", tmp_path, "--to", "markdown")
    assert "A red tram waits" in text
    assert "No picture here" in text
    run("link", tmp_path, "--to", "parquet", "--output", tmp_path / "out.parquet")
    import pyarrow.parquet as pq

    assert set(pq.read_table(tmp_path / "out.parquet").column("document").to_pylist()) == {"article", "plain"}
    output = run("link", tmp_path, "--output", tmp_path / "pages", "--all-pages")
    assert {p.name for p in (tmp_path / "pages").glob("*.*ml")} == {"article.html", "plain.html", "index.html"}
    assert "2 documents" in output
    for to in ("jsonl", "json", "markdown", "parquet"):
        assert "2 documents" in run("link", tmp_path, "--to", to, "--output", tmp_path / "data" / to)
    assert run("link", tmp_path, "--to", "jsonl", "--output", tmp_path / "quiet.jsonl", "--quiet") == ""


@pytest.mark.slow
@pytest.mark.parametrize("to", ["html", "jsonl", "markdown"])
def test_the_status_says_whether_what_was_asked_for_is_there(tmp_path, monkeypatch, to):
    monkeypatch.chdir(tmp_path)
    for name, text in (("docs/good.md", "A sentence."), ("docs/empty.md", ""), ("none/empty.md", "")):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    command = ["link", "--to", to, *(["-o", "out"] if to == "html" else [])]
    told = program.run(*command, "docs")
    assert "iconotext: docs/empty.md: the file is empty\niconotext: 1 of 2 documents failed" in told.stderr
    run(*command, "docs/good.md", "docs/empty.md")  # an empty one beside a good one is no failure of the run
    run(*command, "docs/good.md", "docs/gone.md", status=1)  # one that was named
    run(*command, "none", status=1)  # all


@pytest.mark.slow
def test_problems_are_listed(tmp_path, monkeypatch, picture):
    monkeypatch.chdir(tmp_path)
    picture("docs/good.png")
    pictures = "".join(f"![](gone{n}.png)\n\n" for n in range(30))
    Path("docs/=a.md").write_text(f"A sentence.\n\n{pictures}![](=1+2.png)\n\n<img src='\x1b[31mx.png'>")
    Path("docs/b.md").write_text("")
    Path("docs/c.md").write_text("Nothing wrong here.\n\n![](good.png)")
    Path("docs/d.md").write_text("No picture here.")
    told = program.run("link", "docs", "-o", "out")
    lines = told.stderr.splitlines()
    assert lines[1] == "1 of 4 documents has no picture and so no page: --all-pages makes one of each"
    assert lines[2] == "iconotext: docs/b.md: the file is empty"
    assert lines[3:] == [
        "iconotext: docs/=a.md: gone0.png, and 31 other pictures: not found beside the document",
        "iconotext: out/problems.tsv lists all problems",
        "iconotext: 1 of 4 documents failed",
    ]
    table = [line.split("\t") for line in Path("out/problems.tsv").read_text().splitlines()]
    assert table[0] == ["path", "what", "why"]
    assert len(table) == 1 + 33
    assert table[-2][:2] == ["docs/=a.md", "'=1+2.png"]
    assert "\x1b" not in Path("out/problems.tsv").read_text()
    Path("docs/b.md").write_text("Now there is text.")
    Path("docs/=a.md").write_text("No pictures.")
    run("link", "docs", "-o", "out")
    assert not Path("out/problems.tsv").exists()
    Path("out/problems.tsv").write_text("the user's own")
    assert "problems.tsv exists already" in run("link", "docs", "-o", "out", status=1)


def test_what_the_extra_would_read_is_told(article, tmp_path, monkeypatch):
    (tmp_path / "a.org").write_text("Words.")
    monkeypatch.setattr(import_module("iconotext.read.format"), "has", lambda _extra: False)
    said = program.run("link", tmp_path, "-o", tmp_path / "pages").stderr
    assert "Not read: 1 .org\n" in said
    assert 'pip install "iconotext[formats]"' in said


@pytest.mark.slow
def test_files_that_are_not_read_are_counted(article, tmp_path):
    for name in ("a.txt", "b.txt", "c.pages", "d.css", "e\x1b[31m.js", "drafts/e.md", "_layouts/f.html", ".git/g.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "t.html").write_text("{% extends 'base' %}")
    command = ["link", str(tmp_path), "-o", str(tmp_path / "pages"), "--exclude", "drafts/"]
    (told,) = (line for line in program.run(*command).stderr.splitlines() if line.startswith("Not read"))
    assert set(told.removeprefix("Not read: ").split(", ")) == {
        "2 .txt", "1 .pages", "drafts/", "_layouts/", "1 HTML template",
    }  # fmt: skip
    verbose = subprocess.run([sys.executable, "-m", "iconotext", *command, "-v"], capture_output=True, text=True).stderr
    assert "1 .css" in verbose
    assert "\x1b" not in verbose
    assert f"iconotext: {tmp_path / 'e[31m.js'}: not read (.js)" in verbose
    assert f"iconotext: {tmp_path / 'd.css'}: not read (.css)" in verbose
    assert f"iconotext: {article}: unchanged" in verbose
    assert "2 iconotext pages" in verbose
    assert program.run(*command, "--quiet").output == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.md"], "no such file"),
        (["."], "no documents in"),
        (["a.md", "--quiet", "--verbose"], "contradict"),
        (["www.example.org/a"], "no such file; an address on the web begins with https://"),
        ([".", "--exclude", "*.md"], "no documents in . but those that --exclude leaves out"),
        (["a.md", "--to", "parquet"], "--output"),
        (["a.md", "b.md", "--output", "x.html"], "folder"),
    ],
)
def test_known_errors_are_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    if arguments != ["."]:
        for name in ("a.md", "b.md"):
            Path(name).write_text("A sentence.")
    assert re.search(message, program.error_line("link", *arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--evidence", "smell"], "evidence.*picture"),
        (["--language", "xx"], "--language: 'xx' is no ISO 639-1 code"),
        (["--evidence", "caption", "--explain"], "--explain: only picture evidence"),
    ],
)
def test_wrong_values_are_one_line(arguments, message):
    assert re.search(message, program.error_line("link", "a.md", *arguments, status=2))


def test_usage_and_version():
    assert run("--version").strip() == f"iconotext {__version__}"
    assert "link" in run("--help")
    assert "Examples" in run("link", "--help")
    run("link", status=2)
    run("link", "a.md", "--to", "nonsense", status=2)
