"""Every example runs, with arguments and without, and prints what it says. So does the Python of the guides."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image as Pillow

EXAMPLES = Path(__file__).parents[1] / "examples"
RUN = {
    "draft_with_vision_model": (["docs/bare.md"], "img0.png: A surface whose mean colour is "),
    "link_article": (["docs/0.md"], "img0.png: "),
    "link_folder": (["docs"], "links.parquet: "),
    "link_rows": ([], "seesaw.svg: "),
    "make_corpus": ([], "['A dog runs along the beach.', 'Then it rains.']"),
    "own_scores": (["corpus.jsonl"], "'auc': "),
    "pictures_in_an_answer": ([], "chain.png at 'Let one drop of oil fall on each link of the chain.'"),
    "pictures_in_docling": (["paper.json", "linked.json"], "['Here is number 1, a dog."),
    "pictures_in_haystack": (["docs"], "['img11.png']"),
    "pictures_in_langchain": (["docs"], "['img11.png']"),
    "pictures_in_llama_index": (["docs/0.md"], "ImageNode img0.png: 'Number 0"),
    "search_library": (["docs", "a dog"], "12 added"),
    "shapes": (["drawn", "3"], "drawn/corpus.jsonl: 3 documents"),
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
    (tmp_path / "docs/bare.md").write_text("Here is number 0, a dog.\n\n![](img0.png)\n")
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


IN_TURN = """
import json, os, runpy, sys
for folder, program, *arguments in json.loads(sys.argv[1]):
    os.chdir(folder)
    sys.argv, sys.path[0] = [program, *arguments], os.path.dirname(program)
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    print("\\x1e", flush=True)
"""
"""Runs programs one after the other, with what each is given, in one process: so they import and load things once."""


def in_turn(*runs):
    """What each run prints, a run being a folder, a program and its arguments."""
    command = [sys.executable, "-c", IN_TURN, json.dumps([list(map(str, run)) for run in runs])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr[-2000:]
    printed = done.stdout.split("\x1e\n")
    assert len(printed) == len(runs) + 1
    return printed[:-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_an_example_runs_and_runs_again_and_prints_what_it_says(inputs, tmp_path, name):
    """With arguments, and without: on data that it makes, or that lies beside it, where its docstring says what it prints.

    What varies stands as ``...`` in the lines of the docstring.
    """
    program, (arguments, expected) = EXAMPLES / f"{name}.py", RUN[name]
    docstring = ast.get_docstring(ast.parse(program.read_text("utf-8"))) or ""
    promised = [line.strip() for line in docstring.partition("Prints\n")[2].splitlines() if line.strip()]
    assert promised
    empty = tmp_path / "empty"
    empty.mkdir()
    given = (tmp_path, program, *arguments) if arguments else (empty, program)
    times = 1 if name == "train_model" else 2  # it does not train where a model is
    runs = [*[given] * times, *[(empty, program)] * bool(arguments)]
    printed = in_turn(*runs)
    assert expected in "".join(printed[:times])
    for line in promised:
        pattern = ".*".join(map(re.escape, line.split("...")))
        bare = printed[-1] if arguments else printed[0]
        assert re.search(f"^ *{pattern} *,?$", bare, re.MULTILINE), (line, bare)
    if name == "link_folder":
        assert pq.read_table("links.parquet").num_rows > 0


@pytest.mark.slow
def test_a_measurement_needs_gold_links(inputs):
    rows = [json.loads(line) for line in Path("corpus.jsonl").read_text().splitlines()]
    Path("corpus.jsonl").write_text("".join(json.dumps(row | {"links": None}) + "\n" for row in rows))
    command = [sys.executable, EXAMPLES / "own_scores.py", "corpus.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "corpus.jsonl: no document has gold links to measure with\n")


GUIDES = (
    "README.md",
    *(f"docs/{name}.md" for name in ("link", "context", "place", "check", "alt-text", "search", "corpora", "evaluate")),
)
"""Guides whose Python runs on the documents of this test."""

PYTHON = re.compile(
    r"(?<=^```python\n)(?:.*\n)*?(?=```$)|(?:^ {4}(?:from|import) .*\n)(?:^(?: {4}.*)?\n)*", re.MULTILINE
)
"""A block of Python in a guide: fenced, or indented from its first import on."""

BLOCKS = {
    name: list(map(textwrap.dedent, PYTHON.findall((EXAMPLES.parent / name).read_text("utf-8")))) for name in GUIDES
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GUIDES)
def test_the_python_of_a_guide_runs_twice(inputs, name):
    """Its blocks one after the other: later ones use names of earlier ones."""
    Path("docs/0.md").rename("article.md")
    Path("docs/img0.png").rename("img0.png")
    if name == "docs/search.md":
        Path("docs").rename("photos")
    code = "\n".join(BLOCKS[name])
    assert "iconotext" in code
    if name == "docs/corpora.md":
        code = code.replace("corpus.parquet", "corpus.jsonl")
    code = code.replace("depot.md", "article.md").replace("guides.jsonl", "corpus.jsonl")
    Path("guide.py").write_text(code)
    in_turn(*[(Path.cwd(), Path("guide.py").resolve())] * 2)
