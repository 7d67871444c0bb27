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

run = program.run


def test_reading_views_their_index_and_a_search(tmp_path, picture, open_page, monkeypatch):
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
    for file in pages:
        assert REMOTE in file.read_text()  # it is there, as text
        page = open_page.file(file)
        page.wait_for_load_state("networkidle")
        if file.stem == "index":
            page.locator("#documents a").first.click()
            page.wait_for_load_state("networkidle")


def test_tables_of_results_show_their_figures_and_nothing_from_elsewhere(picture, open_page):
    picture("curves.png")
    hostile = f'<img src="{REMOTE}.png"><link rel=stylesheet href="{REMOTE}.css">'
    opened = open_page.html(report_page("Table", [Drawing("curves.png", hostile), Note(hostile)]))
    opened.wait_for_load_state("networkidle")
    assert opened.evaluate("document.images[0].naturalWidth") == 80
    assert opened.evaluate("getComputedStyle(document.body).fontSize") == "15px"  # the style counts


def test_a_page_that_asks_is_caught(open_page):
    open_page.html(f"<!doctype html><title>x</title>{HOSTILE}").wait_for_load_state("networkidle")
    assert f"request: {REMOTE}.png" in open_page.wrong
    open_page.wrong.clear()
