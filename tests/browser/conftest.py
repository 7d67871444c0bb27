"""A real browser, off the network, that reports everything a page does wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iconotext.report.reading_page import reading_page
from iconotext.types import LinkedDocument
from tests.support.browser import Visit
from tests.support.server import Running
from tests.support.server import article as article
from tests.support.server import desk as desk
from tests.support.server import writer as writer


class Pages:
    """Opens reading views and notes what goes wrong in them.

    Attributes:
        wrong: Errors on the console, errors of scripts, dialogs, requests to anything but the file itself.
    """

    def __init__(self, browser: Any, folder: Path) -> None:
        self.wrong: list[str] = []
        self._browser, self._folder = browser, folder
        self._contexts: list[Any] = []

    def __call__(self, linked: LinkedDocument, *, width: int = 1440, height: int = 900, **context: Any) -> Any:
        file = self._folder / f"page-{len(self._contexts)}.html"
        file.write_text(reading_page(linked), encoding="utf-8", newline="")
        options = {"reduced_motion": "reduce", **context}
        self._contexts.append(self._browser.new_context(viewport={"width": width, "height": height}, **options))
        self._contexts[-1].route("**/*", self._request)
        page = self._contexts[-1].new_page()
        page.on("console", lambda message: self.wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.goto(file.as_uri())
        page.wait_for_selector("html.js")
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append("a script of the document ran")
        dialog.dismiss()

    def _request(self, route: Any) -> None:
        if route.request.url.startswith(("file:", "data:")):
            route.continue_()
        else:
            self.wrong.append(f"request: {route.request.url}")
            route.abort()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Pages]:
    """Open the reading view of a document: ``open_page(linked, width=390, color_scheme="dark")``.

    After the test, no page may have logged an error, raised one, or asked the network for anything.
    """
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
