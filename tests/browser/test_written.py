"""The words in a picture, as a reader meets them: a list, and the place of each."""

from __future__ import annotations

import pytest

from iconotext.types import Image, TextLine
from tests.support.linked import HOSTILE, link, make_linked, photograph

pytestmark = pytest.mark.browser

LINES = (
    TextLine("Bakery", 0.99, (0.1, 0.2, 0.5, 0.3)),
    TextLine("Open until noon", 0.9, (0.1, 0.5, 0.9, 0.6)),
    TextLine(HOSTILE[1], 0.7, (0.0, 0.9, 1.0, 1.0)),
)


@pytest.fixture
def linked():
    """A picture with words, one without, and one that is not linked."""
    images = [
        Image("sign.jpg", photograph(1, (300, 200)), alt="A sign", lines=LINES),
        Image("cat.jpg", photograph(2, (300, 200)), lines=()),
        Image("map.jpg", photograph(3, (300, 200)), lines=LINES[:1]),
    ]
    return make_linked(["The bakery closes early.", "A cat watches."], images, [link(0, 0, 0.9), link(1, 1, 0.7)])


def outlined(page):
    return page.evaluate("[...document.querySelectorAll('.place')].map((e) => e.classList.contains('on'))")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_where_they_were_read(open_page, linked, scheme):
    page = open_page(linked, color_scheme=scheme)
    page.click("[data-open='0']")
    assert page.locator(".lines li").all_inner_texts() == ["Bakery", "Open until noon", HOSTILE[1]]
    picture, place = page.locator(".written img").bounding_box(), page.locator(".place").nth(1).bounding_box()
    shares = [
        (place["x"] - picture["x"]) / picture["width"],
        (place["y"] - picture["y"]) / picture["height"],
        place["width"] / picture["width"],
        place["height"] / picture["height"],
    ]
    assert shares == pytest.approx([0.1, 0.5, 0.8, 0.1], abs=0.01)


def test_pointing_at_one_shows_the_other(open_page, linked):
    page = open_page(linked)
    page.click("[data-open='0']")
    assert outlined(page) == [False, False, False]
    page.locator(".lines li").nth(1).hover()
    assert outlined(page) == [False, True, False]
    page.locator(".place").nth(0).hover()
    assert outlined(page) == [True, False, False]
    assert page.locator(".lines li.on").all_inner_texts() == ["Bakery"]
    page.mouse.move(1, 1)
    page.locator(".lines li").nth(2).focus()
    assert outlined(page) == [False, False, True]


def test_each_picture_has_its_own_words(open_page, linked):
    page = open_page(linked)
    page.click("[data-open='1']")
    assert page.locator(".lines, .place").count() == 0
    page.click("#viewer-next")
    assert page.locator(".lines li").all_inner_texts() == ["Bakery"]
    page.click("#viewer-next")
    assert page.locator(".lines li").count() == 3
