from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from iconotext.images import inspect
from iconotext.plain_text import readable, shortened
from iconotext.report.terminal import LONGEST, count, links_table, overview
from iconotext.types import Explanation, Image
from tests.support.linked import explained, link, make_linked, photograph


def shown(renderable, width=120) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system="truecolor", force_terminal=True).print(renderable)
    return file.getvalue()


def plain(renderable) -> str:
    file = io.StringIO()
    Console(file=file, width=120).print(renderable)
    return file.getvalue()


def test_pictures_sentences_and_totals(linked):
    text = plain(links_table(linked))
    assert "img/cat.jpg" in text
    assert re.search(r"A cat sleeps\. +\+1 ", text)
    assert "90\u00a0%" in text
    assert "file not found" in text
    assert "3 pictures" in text
    assert "9 sentences in 1 document" in text
    assert "3 links" in text


def test_overview_counts_documents(linked):
    counts = [count(linked), count(make_linked([], [], []))]
    assert (counts[0].linked, counts[0].problems, counts[1].links) == (2, (("img/gone.jpg", "file not found"),), 0)
    text = plain(overview(counts))
    assert "2 documents" in text
    assert "On cats" in text


def test_icons_and_repeats_are_no_problems(tmp_path):
    for name, side in (("a.png", 90), ("b.png", 90), ("c.png", 16)):
        (tmp_path / name).write_bytes(photograph(1, (side, side)))
    images = inspect([Image(name, tmp_path / name) for name in ("a.png", "b.png", "c.png")])
    assert [image.problem is None for image in images] == [True, False, False]
    assert count(make_linked(["Text."], list(images), [])).problems == ()


def test_a_picture_has_one_line_also_on_a_narrow_terminal(linked):
    table = links_table(linked)
    assert len(shown(table, width=80).splitlines()) == len(shown(table, width=200).splitlines())


def test_pictures_that_are_left_out_for_one_harmless_reason_share_a_line():
    logos = [
        Image(f"page {page}", problem="the same small picture on 68 pages: a logo or an ornament") for page in range(68)
    ]
    text = plain(links_table(make_linked(["Text."], [*logos, Image("b.png", problem="file not found")], [])))
    assert re.search(r"page 0 and 67 more +the same small picture on 68 pages", text)
    assert text.index("file not found") < text.index("the same small picture")
    assert "page 1" not in text
    assert count(make_linked(["Text."], logos, [])).problems == ()


def test_text_of_a_document_has_no_power_over_the_terminal(hostile):
    _, made = hostile
    for text in (shown(links_table(made)), shown(overview([count(made)]))):
        assert "\x1b[31mred" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
    assert plain(links_table(make_linked([], [], []))).count("0 pictures") == 1


def marked(renderable) -> list[str]:
    """What is bold and underlined, of a table that is rendered without a frame."""
    lines = Console(width=200).render_lines(renderable, pad=False)
    return [part.text for line in lines for part in line if part.style and part.style.bold and part.style.underline]


def test_the_words_that_carry_a_link_stand_out(linked):
    assert marked(links_table(linked)) == []
    assert marked(links_table(explained(linked))) == ["cat", "Milk"]


@pytest.mark.parametrize("before", [0, 60, 78, 80, 82, 84, 88, 200])
def test_only_what_is_shown_of_a_word_is_marked(before):
    text = f"cat\x07 {'x' * before}dog"
    each = link(0, 0, 0.5)
    last = len(text)
    each = replace(each, explanation=Explanation(((0, 3, 0.3), (5 + before, last, 0.3)), ()))
    made = make_linked([text], [Image("a.png")], [each])
    seen = len(shortened(readable(text), LONGEST).removesuffix("…"))
    assert "".join(marked(links_table(made))) == "cat" + "dog"[: max(0, seen - 4 - before)]
