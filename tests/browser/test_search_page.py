"""The page with the results of a search, as a reader meets it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from iconotext.errors import OutputError
from iconotext.library.candidates import Filters
from iconotext.library.items import Item, Place
from iconotext.library.results_page import results_page, write_search_page
from iconotext.library.search import Query, search
from iconotext.library.settings import LibrarySettings
from iconotext.library.store import create_library
from iconotext.plain_text import encodable
from iconotext.types import LinkedSentence
from tests.support.browser import luminance
from tests.support.library import RELATIONS, Colours, Relations, paint
from tests.support.linked import HOSTILE

pytestmark = pytest.mark.browser


def page_of(folder: Path, query: Query, text: str) -> str:
    library = create_library(folder / "lib", LibrarySettings("m", "colours", 3, "relations-1", RELATIONS))
    items = []
    for number, size in enumerate([(400, 300), (300, 420), (600, 150)]):
        file = paint(folder / f"{number}.png", (40 * number, 200, 90), size=size)
        said = (LinkedSentence(text, 0.93), LinkedSentence("Then the sun came out. " * 20, 0.2))
        place = Place(
            str(file),
            str(folder / "tour.md"),
            number,
            "x.png",
            text,
            text,
            said,
            language="en",
            relations=(1.0, number - 1.0),
        )
        items.append(
            Item(
                f"{number}",
                (place,),
                datetime(2024, 5, 31),
                Colours().texts(["green"])[0],
                np.zeros(2, "f4"),
                "relations-1",
                taken=number != 1,
            )
        )
    thumbnail = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    inside = Place(None, str(folder / "report.docx"), 4, text, sentences=(LinkedSentence(text, 0.5),))
    items.append(Item("8", (inside,), None, Colours().texts(["green"])[0], np.zeros(2, "f4"), "relations-1", thumbnail))
    gone = Place(str(folder / "gone.png"))
    items.append(Item("9", (gone, inside), None, Colours().texts(["blue"])[0], None, ""))
    library.insert(items)
    (folder / "tour.md").write_text("A tour.")
    return results_page(library, query, search(library, query, Colours().encoder(), Relations()))


@pytest.fixture
def shown(open_page, tmp_path):
    """Open the results of a query; the documents say a text."""

    def show(query: Query, text: str = "A quiet morning at the lake.", **look):
        return open_page.html(page_of(tmp_path, query, text), **{"width": 1200, **look})

    return show


def test_pictures_captions_relations_and_what_was_asked(shown):
    page = shown(Query("green lake", relation="Story", filters=Filters(since=datetime(2020, 1, 1))), "A")
    assert page.inner_text("h1") == "green lake"
    head = page.inner_text("header")
    assert "wanted: story (the text gives the story" in head
    assert "from 2020-01-01" in head
    cards = page.query_selector_all(".cards > li")
    assert len(cards) == 3  # the other two have no date
    first = cards[0].inner_text()
    for text in ("2.png", "tour.md", "taken 2024-05-31", "A", "match", "story"):
        assert text in first
    assert "visible" not in first  # nobody asked for it
    loaded = page.eval_on_selector_all("img", "all => all.map(i => i.complete && i.naturalWidth > 0)")
    assert loaded == [True] * 3
    assert page.eval_on_selector_all("img", "all => all.map(i => i.alt)") == ["A"] * 3


def test_pictures_within_documents_and_pictures_that_are_gone(tmp_path, shown):
    page = shown(Query("green"))
    texts = [card.inner_text() for card in page.query_selector_all(".cards > li")]
    assert len(texts) == 5
    assert "report.docx#image-5" in texts[3]
    assert "file not found" in texts[4]
    assert str(tmp_path) not in texts[4]
    assert page.eval_on_selector_all("img", "all => all.every(i => i.naturalWidth > 0)")


def test_how_well_each_matches_and_no_relation_that_nobody_asked_for(shown):
    page = shown(Query("green morning"))
    first = page.query_selector(".cards > li").inner_text()
    assert "strong match picture" in first
    assert "words: morning" in first
    assert not {"story", "visible"} & set(page.inner_text("main").lower().split())
    assert "%" not in page.inner_text("main")
    texts = [card.inner_text() for card in page.query_selector_all(".cards > li")]
    taken = {
        next(name for name in ("0.", "1.", "2.", "8", "9", "docx", "gone") if name in text): "taken" in text
        for text in texts
    }
    assert taken == {"0.": True, "1.": False, "2.": True, "docx": False}


def test_a_question_without_a_good_match_says_so(shown):
    page = shown(Query("red red"), "A")
    assert "No picture matches well. The nearest:" in page.inner_text("main")
    assert len(page.query_selector_all(".cards > li")) == 3


def test_a_picture_enlarges_and_links_to_its_file_and_its_document(tmp_path, shown):
    page = shown(Query("green"), width=1000)
    card = page.query_selector(".cards > li")
    assert page.eval_on_selector(".name", "a => a.href") == (tmp_path / "0.png").as_uri()
    assert page.eval_on_selector(".foot a", "a => a.href") == (tmp_path / "tour.md").as_uri()
    before = card.query_selector("img").bounding_box()["width"]
    card.query_selector(".zoom").click()
    assert card.query_selector("img").bounding_box()["width"] == 1000 > 2 * before
    page.mouse.click(500, 450)
    assert card.query_selector("img").bounding_box()["width"] == before


def test_nothing_is_wider_than_the_window_and_colours_are_those_of_the_system(shown):
    page = shown(Query("green " * 30), "x" * 400)
    for width, scheme in ((320, "light"), (390, "dark"), (768, "light"), (1440, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        colour, ground = (
            luminance(page.evaluate(f"getComputedStyle(document.body).{name}")) for name in ("color", "backgroundColor")
        )
        assert (colour > ground) == (scheme == "dark")


def test_texts_from_documents_stay_texts(shown):
    text = encodable(" ".join(HOSTILE))
    page = shown(Query(f"{text}?", anyway=True), text)
    assert page.evaluate("document.scripts.length") == 0
    assert len(page.query_selector_all(".cards > li")) == 5


def test_no_results_and_a_page_is_not_overwritten(tmp_path, shown):
    nowhere = Query("green", filters=Filters(folder="/nowhere"))
    page = shown(nowhere)
    assert "No picture satisfies the filters." in page.inner_text("main")
    library = create_library(tmp_path / "other", LibrarySettings("m", "colours", 3))
    write_search_page(tmp_path / "new.html", library, nowhere, [])
    with pytest.raises(OutputError, match="exists already"):
        write_search_page(tmp_path / "new.html", library, nowhere, [])
