"""What a notebook shows of a context."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lxml import html

from tests.support.linked import HOSTILE


def test_the_picture_beside_what_is_said_of_it(linked, tmp_path, picture):
    context = replace(linked.context(0), file=str(picture("a.png")))
    card = html.fromstring(context._repr_html_())
    (image,) = card.iter("img")
    assert image.get("src").startswith("data:image/")
    assert image.get("alt") == "A cat"
    said = "".join(card.itertext())
    for part in ("On cats", "A cat sleeps. It dreams of mice.", "Figure 1: asleep", "img/cat.jpg (90\u00a0%)"):
        assert part in said


def test_without_a_file_there_is_no_picture(linked):
    gone = linked.context(2)
    assert "<img" not in gone._repr_html_()
    assert "img/gone.jpg (by place): file not found" in gone._repr_html_()
    assert "<img" not in replace(gone, file="/nowhere/a.png")._repr_html_()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_document_says_is_text(linked, text):
    context = replace(linked.context(0), source=text, alt=text, caption=text, text=text, headings=(text,), problem=text)
    card = html.fromstring(context._repr_html_())
    assert {element.tag for element in card.iter()} <= {"div", "small", "p", "em"}
