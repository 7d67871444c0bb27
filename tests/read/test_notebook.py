"""Jupyter notebooks."""

from __future__ import annotations

import base64
import json

import pytest

from iconotext.errors import DocumentError
from iconotext.evidence.reference import reference_evidence
from tests.support.reading import read_as

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="80"><rect width="90" height="80" fill="red"/></svg>'


@pytest.fixture
def notebook(tmp_path):
    def make(*cells: dict[str, object], **rest: object):
        content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **rest}
        return read_as(tmp_path / "a.ipynb", json.dumps(content))

    return make


@pytest.fixture
def encoded(picture):
    def make(seed: int) -> str:
        return base64.encodebytes(picture(f"made{seed}.png", seed=seed).read_bytes()).decode()

    return make


def words(source: str | list[str], **rest: object) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": source, **rest}


def code(*outputs: dict[str, object], source: str = "", **metadata: object) -> dict[str, object]:
    made = [{"output_type": "display_data", "metadata": {}, "data": data} for data in outputs]
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": made, "execution_count": 1}


def test_text_attachments_files_and_outputs(notebook, picture, encoded, tmp_path):
    picture("img/a.png", seed=9)
    found = notebook(
        words(["# Trams\n", "\n", "They *ran*. See [the plot](#fig-plot).\n\n", "![A tram](attachment:image.png)"],
              attachments={"image.png": {"image/png": encoded(1)}}),
        code({"image/png": encoded(2), "text/plain": ["<Figure>"]}, {"text/plain": "42"},
             source="#| label: fig-plot\n#| fig-cap: \"How many ran.\"\nplot()"),
        words("Between. ![](attachment:image.png)", attachments={"image.png": {"image/png": encoded(3)}}),
        code({"image/svg+xml": [SVG]}, {"text/html": "<table><tr><td>1</td></tr></table>"},
             {"text/html": "<img src='img/a.png' alt='From HTML'>"}, {"text/markdown": "Made *by* code."}),
        words("![](attachment:gone.png)"),
        {"cell_type": "raw", "metadata": {}, "source": "Not text."},
    )  # fmt: skip
    assert [s.text for s in found.sentences] == [
        "Trams", "They ran.", "See the plot.", "Between.", "Made by code.",
    ]  # fmt: skip
    assert [(i.source, i.alt, i.caption, i.position, i.problem) for i in found.images] == [
        ("attachment:image.png", "A tram", None, 3, None),
        ("cell-2-output-1.png", None, "How many ran.", 3, None),
        ("attachment:image.png", None, None, 4, None),
        ("cell-4-output-1.svg", None, None, 4, None),
        ("img/a.png", "From HTML", None, 4, None),
        ("attachment:gone.png", None, None, 5, "the notebook names it and does not hold it"),
    ]
    assert [i.file for i in found.images][:3] == [(tmp_path / f"made{n}.png").read_bytes() for n in (1, 2, 3)]
    assert found.images[3].file == SVG.encode()
    assert (reference_evidence(found)[2] > 0).tolist() == [0, 1, 0, 0, 0, 0]


def test_captions_and_names_as_myst_has_them(notebook, encoded):
    about = {"mystnb": {"figure": {"caption": "How many\nran.", "name": "plot"}, "image": {"alt": "A curve"}}}
    (image,) = notebook(words("Words."), code({"image/png": encoded(0)}, **about)).images
    assert (image.alt, image.caption, image.anchors) == ("A curve", "How many ran.", ("plot",))


@pytest.mark.parametrize(
    ("tag", "shown", "drawn"), [("remove-output", ["Words."], 0), ("remove-cell", [], 0), ("hide-input", ["Words."], 1)]
)
def test_tags_of_cells(notebook, encoded, tag, shown, drawn):
    tagged = {**words("Words."), "metadata": {"tags": [tag]}}
    found = notebook(words("# Head"), tagged, code({"image/png": encoded(0)}, tags=[tag]))
    assert [s.text for s in found.sentences] == ["Head", *shown]
    assert len(found.images) == drawn


def test_front_matter_of_the_first_cell(notebook):
    head = {"cell_type": "raw", "metadata": {}, "source": "---\ntitle: Trams\nlang: de\n---\n"}
    found = notebook(head, words("Hallo."))
    assert (found.title, found.language, len(found.sentences)) == ("Trams", "de", 1)


def test_version_3(notebook, encoded):
    heading = {"cell_type": "heading", "level": 2, "source": "Trams"}
    drawing = {"cell_type": "code", "input": "x", "outputs": [{"output_type": "display_data", "png": encoded(0)}]}
    found = notebook(worksheets=[{"cells": [heading, drawing]}], nbformat=3)
    assert [(s.text, s.level) for s in found.sentences] == [("Trams", 2)]
    assert [i.problem for i in found.images] == [None]


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"cells": 1}', '"a"', '{"cells": [', "[" * 100_000, '{"worksheets": [[]]}']
)
def test_what_is_no_notebook(tmp_path, text):
    with pytest.raises(DocumentError, match=r"a\.ipynb: (?:.*not a notebook|it is nested too deeply)"):
        read_as(tmp_path / "a.ipynb", text)


@pytest.mark.parametrize(
    "cell",
    [
        7,
        {"cell_type": "markdown", "source": 7, "metadata": {"tags": 3}},
        {"cell_type": "code", "source": ["#| label: x", 3], "outputs": 7},
        {"cell_type": "code", "outputs": [7, {"data": []}, {"data": {"image/png": 7, "text/html": ["<img src"]}}]},
        {"cell_type": "markdown", "source": "![](attachment:a)", "attachments": {"a": 7}},
        {"cell_type": "markdown", "source": "![](attachment:a)", "attachments": {"a": {"image/png": "!"}}},
    ],
)
def test_odd_values_stop_nothing(notebook, cell):
    found = notebook(words("Words."), cell)
    assert found.sentences[0].text == "Words."
    assert all(image.problem for image in found.images)


def test_remote_and_outside_pictures_stay_where_they_are(notebook):
    found = notebook(words("Words.\n\n![](https://x.example/a.png) ![](../../etc/x.png) ![](file:///etc/passwd)"))
    assert all(image.problem and image.file is None for image in found.images)
    assert len(found.images) == 3
