"""The chips that say how a sentence and its picture relate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iconotext.types import Image
from tests.support.linked import link, make_linked, photograph

pytestmark = pytest.mark.browser


@pytest.fixture
def linked():
    """Two links of one picture, one with two relations worth showing, one with none."""
    said = ({"Visible": 0.81, "Story": 0.995, "Expansion": 0.9}, {"Visible": 0.3, "Story": 0.62})
    links = [link(0, 0, 0.9), link(1, 0, 0.5)]
    links = [replace(each, relations=relations) for each, relations in zip(links, said, strict=True)]
    return make_linked(
        ["A dog runs.", "Nobody knows."], [Image("0.jpg", photograph(0, (300, 200)), alt="A dog")], links
    )


@pytest.mark.parametrize("width", [1280, 360])
def test_the_relations_worth_showing_stand_beside_the_sentence_with_their_meaning(open_page, linked, width):
    page = open_page(linked, width=width)
    page.locator('[data-open="0"]').click()
    chips = page.locator("dialog .chips li")
    assert chips.count() == 2
    assert [text.replace("\u00a0", " ") for text in chips.all_text_contents()] == [
        "the story behind it: the text gives the story or the circumstances behind the image, >99 %",
        "says what it shows: the text says what the image shows, 81 %",
    ]
    assert chips.first.get_attribute("title") == "the text gives the story or the circumstances behind the image"
    assert page.locator("dialog ol > li").nth(1).locator(".chips").count() == 0
    assert page.evaluate("document.querySelector('dialog').scrollWidth <= innerWidth")
    marker = page.evaluate("getComputedStyle(document.querySelector('.chips li')).listStyleType")
    assert marker == "none"


def test_pages_without_relations_have_no_chips(open_page, linked):
    page = open_page(replace(linked, links=tuple(replace(each, relations=None) for each in linked.links)))
    page.locator('[data-open="0"]').click()
    assert page.locator("dialog ol > li").count() == 2
    assert page.locator(".chips").count() == 0
