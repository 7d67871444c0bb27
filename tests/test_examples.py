"""Every example runs, and prints what it says."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image as Pillow

EXAMPLES = Path(__file__).parents[1] / "examples"
RUN = {
    "link_article": (["docs/0.md"], "img0.png: "),
    "link_folder": (["docs"], ""),
    "make_corpus": ([], "['A dog runs along the beach.', 'Then it rains.']"),
    "own_scores": (["corpus.jsonl"], "'auc': "),
    "pictures_in_docling": (["paper.json", "linked.json"], "['Here is number 1, a dog."),
    "pictures_in_haystack": (["docs"], "['img11.png']"),
    "pictures_in_langchain": (["docs"], "['img11.png']"),
    "pictures_in_llama_index": (["docs/0.md"], "ImageNode img0.png: 'Number 0"),
    "search_library": (["docs", "a dog"], "12 added"),
    "set_similarity": ([], "assignment 0.6"),
    "train_model": (["corpus.jsonl", "model"], '"epochs": 3'),
}
"""Their arguments, and what they print."""


@pytest.fixture
def inputs(tmp_path, monkeypatch, picture):
    """Documents, and a corpus of them."""
    monkeypatch.chdir(tmp_path)
    rows = []
    for number in range(12):
        picture(f"docs/img{number}.png", seed=number)
        sentences = [f"Here is number {number}, a dog.", "Nothing else is to be seen."]
        (tmp_path / f"docs/{number}.md").write_text(f"{sentences[0]}\n\n![Number {number}](img{number}.png)\n")
        rows.append(
            {
                "id": str(number),
                "sentences": sentences,
                "images": [f"docs/img{number}.png"],
                "captions": [f"a dog, number {number}"],
                "links": [[0, 0]],
            }
        )
    write_docling(tmp_path)
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_docling(folder):
    """A document of docling as JSON."""
    from docling_core.types.doc import DocItemLabel, DoclingDocument, ImageRef

    made = DoclingDocument(name="paper")
    made.add_text(DocItemLabel.TEXT, "Here is number 1, a dog. Nothing else is to be seen.")
    made.add_picture(image=ImageRef.from_pil(Pillow.open(folder / "docs/img1.png"), dpi=72))
    made.save_as_json(folder / "paper.json")


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == RUN.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_an_example_runs(inputs, monkeypatch, capsys, name):
    arguments, printed = RUN[name]
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert printed in capsys.readouterr().out
    if name == "link_folder":
        assert pq.read_table("links.parquet").num_rows > 0
