from __future__ import annotations

import io

from rich.console import Console

from iconotext.report.as_table import count, overview, table
from tests.report.conftest import make_linked


def shown(renderable, width=120) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system="truecolor", force_terminal=True).print(renderable)
    return file.getvalue()


def plain(renderable) -> str:
    file = io.StringIO()
    Console(file=file, width=120).print(renderable)
    return file.getvalue()


def test_pictures_sentences_and_totals(linked):
    text = plain(table([linked]))
    assert "img/cat.jpg" in text
    assert "A cat sleeps. (and 1 more)" in text
    assert "90\u00a0%" in text
    assert "file not found" in text
    assert "3 pictures" in text
    assert "9 sentences in 1 document" in text
    assert "3 links" in text


def test_overview_counts_documents(linked):
    counts = [count(linked), count(make_linked([], [], []))]
    assert (counts[0].linked, counts[0].problems, counts[1].links) == (2, 1, 0)
    text = plain(overview(counts))
    assert "2 documents" in text
    assert "On cats" in text


def test_text_of_a_document_has_no_power_over_the_terminal(hostile):
    _, made = hostile
    for text in (shown(table([made, made])), shown(overview([count(made)]))):
        assert "\x1b[31mred" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
    assert plain(table([])).count("0 pictures") == 1
