"""The index of a folder of pages, as a reader meets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from iconotext.report.page_folder import Origin, Record, card_image, index_page
from iconotext.report.terminal import count
from iconotext.types import Image
from tests.support.browser import LOOKS
from tests.support.linked import HOSTILE, link, make_linked, photograph

pytestmark = pytest.mark.browser


@pytest.fixture
def index(tmp_path) -> Path:
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
    file = tmp_path / "index.html"
    file.write_text(index_page(records), encoding="utf-8")
    return file


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_list_is_filtered_by_title_and_path(browser, index, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text))

    def opened(dialog):
        wrong.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", opened)
    page.goto(index.as_uri())
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
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first, last = (page.locator(each).bounding_box() for each in ("h1", "footer p"))
    assert first["x"] == last["x"]
    context.close()
    assert wrong == []
