"""The pages that the commands write ask the network for nothing, whatever the documents say."""

from __future__ import annotations

from pathlib import Path

import pytest

from iconotext.report.tables import Drawing, Note, report_page
from tests.support import program

pytestmark = pytest.mark.browser

REMOTE = "http://192.0.2.1/x"

HOSTILE = f"""<base href="{REMOTE}"><link rel=stylesheet href="{REMOTE}.css"><img src="{REMOTE}.png" onerror="fetch('{REMOTE}')">
<style>@import url({REMOTE}.css); *{{background:url({REMOTE}.png)}}</style><meta http-equiv=refresh content="0;url={REMOTE}">
<script src="{REMOTE}.js"></script><iframe src="{REMOTE}"></iframe><svg onload="fetch('{REMOTE}')"><image href="{REMOTE}"/></svg>"""


@pytest.fixture
def asked(browser):
    """Open a page, follow its first link, and say what was asked for besides files and data."""
    contexts = []

    def look(file: Path) -> list[str]:
        found: list[str] = []
        contexts.append(context := browser.new_context())

        def request(route):
            if route.request.url.startswith(("file:", "data:")):
                route.continue_()
            else:
                found.append(route.request.url)
                route.abort()

        def dialog(opened):
            found.append("a dialog opened")
            opened.dismiss()

        context.route("**/*", request)
        page = context.new_page()
        page.on("dialog", dialog)
        page.goto(file.as_uri())
        page.wait_for_load_state("networkidle")
        if page.locator("#documents a").count():
            page.locator("#documents a").first.click()
            page.wait_for_load_state("networkidle")
        return found

    yield look
    for context in contexts:
        context.close()


run = program.run


def test_reading_views_their_index_and_a_search(tmp_path, picture, asked, monkeypatch):
    monkeypatch.chdir(tmp_path)
    escaped = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    for number in range(2):
        picture(f"{number}.png", seed=number)
        Path(f"{number}.md").write_text(
            f"---\ntitle: |\n  {escaped.splitlines()[0]}\n---\n# Boats {escaped.splitlines()[0]}\n\nA red boat. {escaped}\n\n"
            f"![{escaped.splitlines()[0]}]({number}.png)\n\n![remote]({REMOTE}.png)\n\n{HOSTILE}\n\nThe boat is red.\n"
        )
    run("link", "0.md", "1.md", "--output", "pages", "--explain")
    run("library", "add", "lib", "0.md", "1.md")
    run("search", "lib", "a red boat", "--html", "found.html")
    pages = [*Path("pages").resolve().glob("*.html"), Path("found.html").resolve()]
    assert len(pages) == 4
    for page in pages:
        assert REMOTE in page.read_text()  # it is there, as text
        assert asked(page) == [], page.name


def test_tables_of_results_show_their_figures_and_nothing_from_elsewhere(tmp_path, picture, asked, browser):
    picture("curves.png")
    page = tmp_path / "table.html"
    hostile = f'<img src="{REMOTE}.png"><link rel=stylesheet href="{REMOTE}.css">'
    page.write_text(report_page("Table", [Drawing("curves.png", hostile), Note(hostile)]))
    assert asked(page) == []
    opened = browser.new_page()
    opened.goto(page.as_uri())
    assert opened.evaluate("document.images[0].naturalWidth") == 80
    assert opened.evaluate("getComputedStyle(document.body).fontSize") == "15px"  # the style counts
    opened.close()


def test_a_page_that_asks_is_caught(tmp_path, asked):
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>x</title>{HOSTILE}")
    assert f"{REMOTE}.png" in asked(page)
