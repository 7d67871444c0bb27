"""A real browser, off the network, that reports everything a page does wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iconotext.report.reading_page import reading_page
from iconotext.types import LinkedDocument
from tests.support.browser import Visit, note_wrong
from tests.support.server import Running
from tests.support.server import article as article
from tests.support.server import desk as desk
from tests.support.server import writer as writer


class Pages:
    """Opens pages of files: ``open_page(linked, width=390, color_scheme="dark")`` the reading view of a document.

    Attributes:
        wrong: See ``note_wrong``.
    """

    def __init__(self, browser: Any, folder: Path) -> None:
        self.wrong: list[str] = []
        self._browser, self._folder = browser, folder
        self._contexts: list[Any] = []

    def __call__(self, linked: LinkedDocument, **look: Any) -> Any:
        page = self.html(reading_page(linked), **look)
        page.wait_for_selector("html.js")
        return page

    def html(self, html: str, **look: Any) -> Any:
        """Open a page as a file among those of the test."""
        file = self._folder / f"page-{len(self._contexts)}.html"
        file.write_text(html, encoding="utf-8", newline="")
        return self.file(file, **look)

    def file(self, file: Path, *, width: int = 1440, height: int = 900, **context: Any) -> Any:
        """Open a file."""
        options = {"reduced_motion": "reduce", **context}
        self._contexts.append(self._browser.new_context(viewport={"width": width, "height": height}, **options))
        page = self._contexts[-1].new_page()
        page.route("http*://**", lambda route: route.abort())
        note_wrong(page, self.wrong, "file:")
        page.goto(file.as_uri())
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Pages]:
    """Open pages of files; after the test, none may have done anything wrong."""
    pages = Pages(browser, tmp_path)
    yield pages
    pages.close()
    assert pages.wrong == []


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Open the first page of a server: ``visit(server, width=390, scheme="dark")``.

    After the test, nothing may have gone wrong; a test that foresees something clears ``Visit.wrong``.
    """
    visits: list[Visit] = []

    def come(server: Running, **look: Any) -> Visit:
        visits.append(Visit(browser, server, **look))
        return visits[-1]

    yield come
    for each in visits:
        each.context.close()
    assert [problem for each in visits for problem in each.wrong] == []
