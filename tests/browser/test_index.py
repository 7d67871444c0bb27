"""The index of a folder of pages, as a reader meets it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iconotext.report.page_folder import Origin, Record, card_image, index_page
from iconotext.report.terminal import count
from iconotext.types import Image
from tests.support.browser import LOOKS, accessible
from tests.support.linked import HOSTILE, link, make_linked, photograph

pytestmark = pytest.mark.browser


@pytest.fixture
def index() -> str:
    """Four documents called README, one with a picture, and others with dangerous titles."""
    made = make_linked(["A cat."], [Image("a.jpg", photograph(1, (600, 400)))], [link(0, 0, 0.9)], title="README")
    shown = Record("a.html", Origin("../docs/a/README.md", "", 0, 1, "", "", {}), count(made), "en", card_image(made))
    records = [shown]
    for name in ("b", "c/deeper", "c"):
        source = replace(shown.origin, source=f"../docs/{name}/README.md")
        records.append(replace(shown, page=f"{name[0]}.html", origin=source, picture=None))
    for n, text in enumerate(HOSTILE):
        counts = replace(shown.counts, name=text.encode("utf-8", "replace").decode())
        records.append(replace(shown, origin=replace(shown.origin, source=f"../docs/z/{n}.md"), counts=counts))
    return index_page(records)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_list_is_filtered_by_title_and_path(open_page, index, width, scheme):
    page = open_page.html(index, width=width, color_scheme=scheme)
    everything = page.locator("#documents li:visible").count()
    assert everything == 4 + len(HOSTILE)
    page.get_by_label("Filter").fill("readme C/")
    assert page.locator("li:visible .path").all_inner_texts() == ["c/deeper/README.md", "c/README.md"]
    assert page.locator("#shown").inner_text() == f"2 of {everything}"
    page.get_by_label("Filter").fill("readme")
    assert page.locator("li:visible").count() == 4
    assert page.locator("li:visible img").count() == 1
    page.get_by_label("Filter").fill("")
    assert page.locator("li:visible").count() == everything
    assert page.locator("#shown").inner_text() == ""
    accessible(page)
    first, last = (page.locator(each).bounding_box() for each in ("h1", "footer p"))
    assert first["x"] == last["x"]
