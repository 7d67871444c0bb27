"""Corpora and models for the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.articles import ARTICLE
from tests.support.coherent import coherent_model, labelled_pairs


@pytest.fixture
def corpus(tmp_path, picture) -> Path:
    """Six documents with links in two splits, and two without an AUC."""
    for number in range(4):
        picture(f"img/{number}.png", seed=number)
    rows = [
        {
            "id": f"d{number}",
            "split": "test" if number % 2 else "validation",
            "sentences": [f"Dog number {number}.", "A red tram.", "Taxes."],
            "images": [f"img/{number % 4}.png", f"img/{(number + 1) % 4}.png"],
            "links": [[number % 3, 0]],
        }
        for number in range(6)
    ]
    rows.append({"id": "unknown", "split": "test", "sentences": ["A."], "images": ["img/0.png"]})
    rows.append({"id": "none", "sentences": ["A."], "images": ["img/0.png"], "links": []})
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def docs(tmp_path, picture, monkeypatch) -> Path:
    """The folder docs of the working folder, with ``ARTICLE`` and its pictures."""
    picture("docs/one.png", seed=1)
    picture("docs/two.png", seed=2)
    (tmp_path / "docs" / "article.md").write_text(ARTICLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "docs"


@pytest.fixture
def pairs(tmp_path, picture):
    for n in range(12):
        picture(f"img/{n}.png", seed=n)
    return labelled_pairs(tmp_path)


@pytest.fixture
def model(tmp_path):
    return coherent_model(tmp_path / "model")
