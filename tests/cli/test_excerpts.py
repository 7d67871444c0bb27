"""``iconotext context`` and ``iconotext chunks``."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from iconotext.report.length import tokens_ruler
from tests.support import program
from tests.support.articles import ARTICLE

run = program.run


@pytest.fixture
def article(docs):
    return docs / "article.md"


def test_contexts(article, tmp_path):
    one, two, gone = json.loads(run("context", article, "--json", "--words", 12).stdout)
    assert [each["source"] for each in (one, two, gone)] == ["one.png", "two.png", "gone.png"]
    assert "Figure 1 shows it." in one["text"]
    assert (one["caption"], one["alt"]) == ("Figure 1: A red tram.", "A red tram at a stop")
    assert one["headings"] == ["Trams"]
    assert two["headings"] == ["Trams", "Cats"]
    assert two["by"] == "links"
    assert "A cat sleeps on the roof of the depot." in two["text"]
    assert (gone["by"], gone["paragraph_confidence"]) == ("place", None)
    assert "not found" in gone["problem"]
    for sentence in (s for each in (one, two, gone) for s in each["sentences"]):
        assert ARTICLE[sentence["source_start"] : sentence["source_end"]] == sentence["text"]
    shown = run("context", article)
    assert "A cat sleeps" in shown.stdout
    assert "by place" in shown.stdout
    written = run("context", article, "-o", tmp_path / "c.parquet")
    assert "3 contexts of 1 document" in written.stderr
    assert pq.read_table(tmp_path / "c.parquet").column("image").to_pylist() == [0, 1, 2]
    assert "the option force replaces it" in run("context", article, "-o", tmp_path / "c.parquet", status=1).stderr


@pytest.mark.slow
def test_chunks(article, tmp_path):
    trams, cats = json.loads(run("chunks", article, "--json", "--words", 16).stdout)
    assert [each["source"] for each in trams["images"]] == ["one.png"]
    assert [each["source"] for each in cats["images"]] == ["two.png", "gone.png"]
    assert trams["text"] == "Trams\n\nA red tram waits at the stop. The driver drinks coffee. Figure 1 shows it."
    assert cats["headings"] == ["Trams", "Cats"]
    assert ARTICLE[cats["source_start"] : cats["source_end"]].startswith("Cats\n\nA cat")
    assert "words" not in trams
    (full, _) = json.loads(run("chunks", article, "--json", "--words", 16, "--full", "--once").stdout)
    assert (full["words"], full["images"][0]["sentences"][0]["text"]) == (16, "Figure 1 shows it.")
    shown = run("chunks", article, "--words", 16).stdout
    assert "Trams › Cats" in shown
    assert "gone.png (by place)" in shown
    run("chunks", article, "--words", 16, "-o", tmp_path / "c.jsonl", "--quiet")
    assert [json.loads(line)["chunk"] for line in (tmp_path / "c.jsonl").read_text().splitlines()] == [0, 1]


@pytest.mark.slow
def test_chunks_with_a_limit_in_tokens(article, tmp_path):
    article.write_text(ARTICLE.replace("He drinks", "It waits " * 60), encoding="utf-8")
    run("chunks", article, "--tokens", 24, "--output", tmp_path / "c.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    counts = tokens_ruler(24, "minilm").lengths([each["text"] for each in rows])
    assert max(counts) <= 24
    assert "Tokens" in run("chunks", article, "--tokens", 24).stdout
    assert "nobody/nothing" in run("chunks", article, "--tokens", 24, "--tokenizer", "nobody/nothing", status=1).stderr


def test_what_is_wrong_is_said_before_any_work(article, tmp_path):
    assert "give one of them" in run("chunks", article, "--words", 9, "--tokens", 9, status=1).stderr
    assert "ends in .jsonl or .parquet" in run("chunks", article, "-o", tmp_path / "c.csv", status=1).stderr
    for command in ("context", "chunks"):
        said = run(command, article, "-o", tmp_path / "new.jsonl", "--json", status=1).stderr
        assert "--json prints, and --output writes a file: take one of them" in said
    (tmp_path / "there.jsonl").touch()
    assert "the option force replaces it" in run("context", article, "-o", tmp_path / "there.jsonl", status=1).stderr
    assert run("context", article, "--words", 0, status=2)
    assert "no such file" in run("context", tmp_path / "nothing.md", status=1).stderr


@pytest.mark.parametrize("command", ["context", "chunks"])
def test_a_folder_is_refused(command, article, tmp_path):
    assert (
        "name a file that ends in .jsonl or .parquet" in run(command, article, "-o", tmp_path / "set", status=1).stderr
    )
