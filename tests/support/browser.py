"""Pages of a server in a browser: what goes wrong in them, and how each looks, wide and narrow, light and dark."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.server import Running

LOOKS = [(1280, "light"), (390, "dark")]
"""Every width and colour scheme that pages are looked at in; not each with each, since colours are those of any width."""


QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


PATIENCE = 300_000
"""Milliseconds that a browser is waited for: to end a hang, on however slow a machine."""


def _patient(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*arguments: Any, **options: Any) -> Any:
        new = make(*arguments, **options)
        new.set_default_timeout(PATIENCE)
        return new

    return made


def browser_program() -> str | None:
    """The path of a browser on this machine."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def launched(program: str) -> Iterator[Any]:
    """A browser whose pages are waited for with patience."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=program, args=QUIET, timeout=PATIENCE)
        for name in ("new_context", "new_page"):
            setattr(running, name, _patient(getattr(running, name)))
        yield running
        running.close()


def note_wrong(page: Any, wrong: list[str], home: str) -> None:
    """Note what a page does wrong: messages on the console, errors of scripts, dialogs, requests beside ``home``.

    The question whether to remove something is foreseen.
    """

    def dialog(opened: Any) -> None:
        if opened.message.startswith("Remove "):
            opened.accept()
        else:
            wrong.append(f"dialog: {opened.message}")
            opened.dismiss()

    def request(sent: Any) -> None:
        if not sent.url.startswith((home, "data:")):
            wrong.append(f"request: {sent.url}")

    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", dialog)
    page.on("request", request)


def accessible(page: Any) -> None:
    """Fail where axe-core finds something, or the page is wider than the window."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


class Visit:
    """A page of a server in a browser.

    Attributes:
        wrong: See ``note_wrong``.
        home: Address of the server.
        page: The page, of Playwright.
    """

    def __init__(
        self, browser: Any, server: Running, *, width: int = 1440, height: int = 900, scheme: str = "light"
    ) -> None:
        self.wrong: list[str] = []
        self.home = f"http://127.0.0.1:{server.port}"
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        note_wrong(self.page, self.wrong, self.home)
        self.page.goto(server.address)
        server.address = server.next_address()  # the one that was printed when this one was used

    def go(self, path: str) -> None:
        """Open a page of the server by its path."""
        self.page.goto(self.home + path)

    def accessible(self) -> None:
        """See ``accessible``."""
        accessible(self.page)


def accessible_in_every_look(
    visit: Callable[..., Visit], server: Running, path: str, ready: Callable[[Any], object]
) -> None:
    """Open a page anew at both widths, light and dark, and let axe-core look at it.

    Args:
        visit: The fixture.
        server: Whose page it is.
        path: Of the page.
        ready: Called with the page; waits for what is to be on it.
    """
    came = visit(server)
    for width, scheme in LOOKS:
        came.page.set_viewport_size({"width": width, "height": 900})
        came.page.emulate_media(color_scheme=scheme)
        came.go(path)
        ready(came.page)
        came.accessible()


def until(page, condition):
    """Wait for a condition. Playwright's own waiting evaluates text within the page, which our policy forbids."""
    for _ in range(6000):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {condition}")


def luminance(colour):
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def ground(element):
    """The colour behind an element's text: the backgrounds of the page, of what it stands in, and its own."""
    return element.evaluate(
        """e => { const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
        for (const x of [document.body, e.parentElement, e]) {
            c.fillStyle = getComputedStyle(x).backgroundColor; c.fillRect(0, 0, 1, 1); }
        return `rgb(${c.getImageData(0, 0, 1, 1).data.slice(0, 3).join()})` }"""
    )
