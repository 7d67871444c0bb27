"""Why a link, as a reader meets it: the map over the picture, the shaded words, the switch."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from iconotext.types import Explanation, Image, Sentence
from tests.support.browser import contrast, ground, until
from tests.support.linked import link, make_linked, photograph

pytestmark = pytest.mark.browser

HOT = (0.0, 0.0, 0.5, 0.5, 0.4)
COLD = ((0.5, 0.0, 1.0, 0.5, 0.0), (0.0, 0.5, 0.5, 1.0, -0.2), (0.5, 0.5, 1.0, 1.0, 0.0))


def why(text, weights, regions=(HOT, *COLD)):
    """The given words of a text with their weights."""
    words = sorted((text.index(word), text.index(word) + len(word), weight) for word, weight in weights.items())
    return Explanation(tuple(words), regions)


@pytest.fixture
def linked():
    """Two sentences of picture 0, one of picture 1, and one that is linked but not explained."""
    texts = ["A dog runs after a frisbee.", "The meadow is green.", "Nobody explains this one.", "A cat watches."]
    sentences: list[str | Sentence] = [Sentence(text, n) for n, text in enumerate(texts)]
    links = [link(0, 0, 0.9), link(1, 0, 0.5), link(2, 1, 0.4), link(3, 1, 0.7)]
    found = [
        why(texts[0], {"dog": 0.2, "runs": -0.1, "frisbee.": 0.16, "after": 0.02}),
        why(texts[1], {"meadow": 0.1, "green": 0.02}, (*COLD[:2], HOT)),
        None,
        why(texts[3], {"cat": 0.001}, ((0, 0, 1, 1, -0.3),)),
    ]
    links = [replace(each, explanation=reason) for each, reason in zip(links, found, strict=True)]
    images = [Image(f"{n}.jpg", photograph(n, (300, 200)), alt=f"Alt {n}") for n in range(2)]
    return make_linked(sentences, images, links)


def pixel(page, x, y, holder="#p0 .frame"):
    """Red, green, blue, opacity of the map at a place given as shares of its sides."""
    return page.evaluate(
        """([holder, x, y]) => { const c = document.querySelector(holder + ' canvas');
        return [...c.getContext('2d').getImageData(x * c.width, y * c.height, 1, 1).data]; }""",
        [holder, x, y],
    )


def weights(page, sentence):
    """Words that are set apart in a sentence, with their share of the strongest one's weight."""
    return page.eval_on_selector_all(
        f"{sentence} .w", "all => all.map(e => [e.textContent, +e.style.getPropertyValue('--w')])"
    )


def test_looking_at_a_sentence_warms_its_place_in_the_picture(open_page, linked):
    page = open_page(linked)
    assert page.locator("canvas").count() == 0
    page.locator("#s0").hover()
    assert page.locator("canvas").count() == 1
    across = page.evaluate(
        """() => { const c = document.querySelector('canvas');
        return [...c.getContext('2d').getImageData(0, c.height / 10, c.width, 1).data]; }"""
    )
    red, green, blue = across[:3]
    assert red > green > blue
    assert red > 200
    assert max(across[-4:-1]) < 60  # a dark veil
    assert max(abs(a - b) for a, b in pairwise(across[::4])) < 60  # without smoothing: 240, at the edge of the region
    box, frame = (page.locator(f"#p0 {x}").bounding_box() for x in ("canvas", "img"))
    assert all(abs(box[side] - frame[side]) < 1 for side in box)
    page.mouse.move(3, 500)
    assert page.locator("canvas").count() == 0


def test_words_are_shaded_by_their_weight(open_page, linked):
    page = open_page(linked)
    before = page.locator("#s0").inner_text()
    page.locator("#s0").hover()
    assert weights(page, "#s0") == [["dog", 1], ["runs", 0], ["after", 0.1], ["frisbee.", 0.8]]
    strong = page.eval_on_selector_all("#s0 .strong", "all => all.map(e => e.textContent)")
    assert strong == ["dog", "frisbee."]
    shades = page.eval_on_selector_all("#s0 .w", "all => all.map(e => getComputedStyle(e).backgroundColor)")
    assert len(set(shades)) == 4
    assert page.locator("#s0").inner_text() == before
    assert page.locator("#p0 .carried").inner_text() == "carried by: dog, frisbee."
    page.mouse.move(3, 500)
    page.locator("#s0").hover()
    assert len(weights(page, "#s0")) == 4  # not cut twice


def test_a_word_in_two_parts_is_shaded_in_both(open_page):
    """The end of a sentence is an element of its own, and of a long last word only its last letter."""
    text = "It is photosynthesising"
    each = replace(link(0, 0, 0.5), explanation=why(text, {"photosynthesising": 0.2}))
    page = open_page(make_linked([text], [Image("a.jpg", photograph())], [each]))
    page.locator("#s0").hover()
    assert weights(page, "#s0") == [["photosynthesisin", 1], ["g", 1]]
    assert page.locator("#s0").evaluate("e => e.textContent") == text


def test_a_link_without_explanation_or_with_nothing_in_it_shows_nothing(open_page, linked):
    page = open_page(linked)
    page.locator("#s2").hover()
    assert page.locator("canvas").count() == 0
    page.locator("#s3").hover()
    assert page.locator("canvas").is_hidden()
    assert page.locator(".carried").is_hidden()


def test_the_switch_turns_it_off_and_on_with_the_keyboard(open_page, linked):
    page = open_page(linked)
    switch = page.get_by_role("switch", name="Show why")
    assert switch.is_checked()
    assert "nothing else" in page.locator("#" + switch.get_attribute("aria-describedby")).inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "why"
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "s0"
    assert page.locator("canvas, .shaded").count() == 0
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    assert page.locator("canvas").count() == 1
    assert "carried by: dog, frisbee." in page.locator("#s0").get_attribute("aria-description")


def test_a_picture_shows_the_sentence_that_one_came_from_else_the_strongest(open_page, linked):
    page = open_page(linked)
    page.locator("#p0 img").hover()
    assert page.locator("#p0 .carried").inner_text() == "carried by: dog, frisbee."
    page.mouse.move(3, 500)
    page.locator("#s1").focus()
    assert page.locator("#p0 .carried").inner_text() == "carried by: meadow"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.open") == "0"
    assert page.locator("#p0 .carried").inner_text() == "carried by: meadow"
    assert pixel(page, 0.9, 0.1)[0] < 100


def test_the_dialog_has_the_map_of_the_sentence_pointed_at(open_page, linked):
    page = open_page(linked)
    page.locator("#p0 button").click()
    carried = page.locator("dialog .carried")
    assert carried.inner_text() == "carried by: dog, frisbee."
    assert pixel(page, 0.1, 0.1, "dialog .heated")[0] > 200
    assert weights(page, "dialog li:nth-child(2) .quote") == [["meadow", 1], ["green", 0.2]]
    page.locator("dialog .quote").nth(1).hover()
    assert carried.inner_text() == "carried by: meadow"
    page.locator("dialog .quote").nth(0).focus()
    assert carried.inner_text() == "carried by: dog, frisbee."
    assert "Caption, place and mentions" in page.locator("dialog").inner_text()
    box, picture = (page.locator(f"dialog {x}").bounding_box() for x in ("canvas", "img"))
    assert all(abs(box[side] - picture[side]) < 1 for side in box)
    page.keyboard.press("ArrowRight")
    until(page, "document.getElementById('viewer-title').textContent.startsWith('Picture 2')")
    page.keyboard.press("Escape")
    page.get_by_role("switch").uncheck()
    page.locator("#p0 button").click()
    assert page.locator("dialog canvas").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shaded_words_can_be_read(open_page, linked, scheme):
    page = open_page(linked, color_scheme=scheme)
    page.locator("#s0").focus()
    shade = ground(page.locator("#s0 .w").first)
    assert contrast(page.locator("#s0").evaluate("e => getComputedStyle(e).color"), shade) >= 4.5


def test_print_shows_pictures_without_maps(open_page, linked):
    page = open_page(linked)
    page.locator("#s0").focus()
    page.emulate_media(media="print")
    assert not page.locator(".heat").is_visible()
