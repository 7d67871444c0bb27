"""Alternative texts in a real browser: accepted, changed, left and taken back with the keyboard, and written."""

from __future__ import annotations

import threading

import pytest

from tests.support.browser import accessible_in_every_look
from tests.support.captioner import completion, serving
from tests.support.server import WITHOUT_ALT, Running, write_article

pytestmark = pytest.mark.browser

TEXT = "A red tram at a stop"


def card(page, number):
    return page.locator(f".picture-card:has(h3:text-is('Picture {number}'))")


def test_texts_are_accepted_changed_left_and_written_with_the_keyboard(visit, writer, desk):
    path = write_article(desk / "one")
    (document,) = writer.open("one")["documents"]
    came = visit(writer)
    page = came.page
    came.go(f"/documents/{document['id']}")
    page.click("text=Alternative texts")
    page.wait_for_selector(".picture-card:focus >> text=Picture 1")
    assert page.locator(".picture-card").count() == 2  # of the third nothing is wrong
    assert card(page, 1).locator("textarea").input_value() == ""
    assert "write what is to be seen" in card(page, 1).locator(".from").inner_text()
    assert "Figure 1 shows a red tram" in card(page, 1).locator(".says").inner_text()
    assert "file-name" in card(page, 2).locator(".wrong").inner_text()
    assert "The boats lie in the harbour" in card(page, 2).locator(".says").inner_text()
    page.keyboard.press("e")  # into the field
    page.keyboard.type(TEXT)
    page.keyboard.press("Enter")  # accept, and on to the next
    page.wait_for_selector(".picture-card:focus >> text=Picture 2")
    assert card(page, 1).locator(".outcome").inner_text() == "Accepted; not in the file yet."
    page.keyboard.press("d")  # it is decoration
    page.wait_for_selector("text=Nothing is open in this document")
    assert card(page, 2).locator(".outcome").inner_text() == "Decoration; not in the file yet."
    page.keyboard.press("u")
    page.wait_for_selector(".picture-card:focus >> text=Picture 2")
    page.keyboard.press("0")  # leave it
    page.wait_for_selector("text=Nothing is open in this document")
    page.keyboard.press("u")  # and take that back
    page.wait_for_selector(".picture-card:focus >> text=Picture 2")
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type("Two boats under snow")
    page.keyboard.press("Enter")
    page.wait_for_selector("button:focus >> text=Write 2 texts into article")
    came.accessible()
    assert path.read_text() == WITHOUT_ALT
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Wrote 2 texts.")
    expected = WITHOUT_ALT.replace("![](", f"![{TEXT}](").replace("![IMG_0042]", "![Two boats under snow]")
    assert path.read_text() == expected
    page.wait_for_selector("text=Nothing to do: every picture has an alternative text")
    assert card(page, 1).locator(".outcome").inner_text() == "It is in the file."
    came.accessible()


def test_what_somebody_types_stays_while_the_page_follows(visit, writer, desk):
    write_article(desk / "two", "a.md")
    write_article(desk / "two", "b.md", WITHOUT_ALT.replace("river", "lake"))
    made = writer.open("two")
    collection, documents = made["id"], made["documents"]
    came = visit(writer)
    page = came.page
    came.go(f"/collections/{collection}/alt-text?document={documents[1]['id']}")
    page.wait_for_selector(".picture-card:focus")
    page.keyboard.press("e")
    page.keyboard.type("Half a te")
    found = writer.ask("GET", f"/v1/documents/{documents[1]['id']}/alt-text").json
    said = {"key": found["pictures"][1]["key"], "text": "Another person's"}
    assert writer.ask("POST", f"/v1/documents/{documents[1]['id']}/alt-text", said).status == 201
    page.wait_for_selector(".picture-card.said >> text=Picture 2")
    page.keyboard.type("xt")  # where the cursor was
    assert card(page, 1).locator("textarea").input_value() == "Half a text"
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    page.click("#documents >> text=By the river >> nth=0")
    page.wait_for_selector(f"a[aria-current][data-document='{documents[0]['id']}']")
    came.accessible()


def test_pages_fit_a_phone_and_are_read_aloud(visit, writer, desk):
    write_article(desk / "three")
    collection = writer.open("three")["id"]
    accessible_in_every_look(
        visit, writer, f"/collections/{collection}/alt-text", lambda page: page.wait_for_selector(".picture-card img")
    )


@pytest.fixture
def vision():
    with serving() as server:
        yield server


@pytest.fixture
def asking(tmp_path, vision):
    """A server whose people may ask a vision model."""
    options = ["--root", str(tmp_path), "--captioner", vision.url, "--captioner-model", "seer"]
    with Running(tmp_path / "data", *options) as running:
        yield running


def test_a_vision_model_is_asked_and_its_draft_is_looked_at(asking, vision, visit, tmp_path):
    gate = threading.Event()
    vision.say = lambda asked, number: gate.wait(120) and completion("Three boats under snow")
    write_article(tmp_path / "one")
    collection = asking.open("one")["id"]
    came = visit(asking)
    page = came.page
    came.go(f"/collections/{collection}/alt-text")
    page.wait_for_selector(".picture-card:focus >> text=Picture 1")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".picture-card:focus >> text=Picture 2")
    page.keyboard.press("a")
    page.wait_for_selector("text=seer looks at the picture")
    page.keyboard.press("a")  # it is asked once
    came.accessible()
    gate.set()
    page.wait_for_selector("text=Drafted by seer")
    assert len(vision.asked) == 1
    assert card(page, 2).locator("textarea").input_value() == "Three boats under snow"
    assert card(page, 2).locator(".outcome").inner_text() == ""  # nothing is accepted for anybody
    came.accessible()
    page.keyboard.press("Enter")
    page.wait_for_selector(".picture-card:focus >> text=Picture 1")
    assert card(page, 2).locator(".outcome").inner_text() == "Accepted; not in the file yet."
    vision.say = lambda asked, number: completion("IMG_0042")
    page.click("text=Ask seer >> nth=0")
    page.wait_for_selector("text=seer made no draft: the alternative text")
    assert "write what is to be seen" in card(page, 1).locator(".from").inner_text()
    assert card(page, 1).locator("textarea").input_value() == ""
