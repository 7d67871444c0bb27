"""``iconotext papers analyze sizes``, beside the published table."""

from __future__ import annotations

import json
import sys
from functools import partial

import pytest
from rich.console import Console

from iconotext.cli import output
from tests.support import program

run = partial(program.run, "papers", "analyze", "sizes")


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    path = tmp_path / "c.jsonl"
    rows = [
        {"id": f"d{i}", "sentences": ["A."] * (1 + i % 3), "images": ["http://x.example/1"], "links": [[0, 0]]}
        for i in range(8)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_the_published_rows_are_shown(corpus):
    result = run(corpus)
    assert "25K/2K/2K" in result.stdout
    assert "WIKI" in result.stdout
    assert "as published" in result.stdout
    found = json.loads(run(corpus, "--json").stdout)
    assert found[0]["sentences"]["max"] == 3
    assert found[1]["published"] == "MSCOCO"
    assert found[1]["documents"] == [25_000, 2_000, 2_000]
    assert len(found) == 8


def test_corpora_of_the_same_name_are_told_apart(corpus, tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c.jsonl").write_bytes(corpus.read_bytes())
    result = run(corpus, tmp_path / "b/c.jsonl")
    assert "b/c.jsonl" in result.stdout
    assert str(tmp_path.parent) not in result.stdout


def test_an_empty_corpus(tmp_path):
    (tmp_path / "c.jsonl").write_text("\n")
    run(tmp_path / "c.jsonl")


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_no_word_of_the_table_is_broken(tmp_path, monkeypatch, columns):
    name = "a-corpus-whose-name-is-longer-than-there-is-room.jsonl"
    relations = {"relations": {"Subjective": True, "Visible": False}}
    splits = ["train", "validation", "test"]
    rows = [
        {"id": f"d{i}", "sentences": ["A."], "images": [f"http://x.example/{i}"], "split": splits[i % 3], **relations}
        for i in range(1200)
    ]
    for path in (tmp_path / name, tmp_path / "b.jsonl"):
        path.write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(output, "output_console", lambda **_: Console(width=columns, file=sys.stdout))
    result = run(tmp_path / name, tmp_path / "b.jsonl")
    words = result.stdout.split()
    whole = ["train/val/test", "400/400/400", "1,200", "100.0", "DII-Stress", "22K/3K/3K", "Subjective", "density"]
    assert [word for word in whole if word not in words] == []
    assert "…" not in result.stdout
    lines = result.stdout.splitlines()
    sizes = next(line for line in lines if "400/400/400" in line)
    assert len(sizes) <= max(columns, 80)
