"""The server's pages: render a template with the navigation and static files, and number the pages of a list."""

from __future__ import annotations

from typing import NamedTuple

from iconotext.report.page import PACKAGE, environment
from iconotext.serve.settings import ServeSettings

ASSETS = {
    "page.css": (PACKAGE, "text/css"),
    "serve.css": ("iconotext.serve", "text/css"),
    "alt-text.css": ("iconotext.serve", "text/css"),
    "alt-text.js": ("iconotext.serve", "text/javascript"),
    "follow.js": ("iconotext.serve", "text/javascript"),
    "list.js": ("iconotext.serve", "text/javascript"),
    "root.js": ("iconotext.serve", "text/javascript"),
    "review.js": ("iconotext.serve", "text/javascript"),
    "cards.css": ("iconotext.library", "text/css"),
    "search.css": ("iconotext.serve", "text/css"),
    "search.js": ("iconotext.serve", "text/javascript"),
    "server.js": ("iconotext.serve", "text/javascript"),
    "study.css": ("iconotext.serve", "text/css"),
    "study.js": ("iconotext.serve", "text/javascript"),
}
"""The static files of the pages: package of the template, and media type."""

TEMPLATES = ("iconotext.serve", "iconotext.library")
"""Packages of the templates; that of search results belongs to the library."""


class Numbered(NamedTuple):
    """A page of a long list.

    Attributes:
        number: From 1.
        last: Number of the last page.
        total: Number of entries on all pages.
        most: Maximum number of entries on a page.
    """

    number: int
    last: int
    total: int
    most: int

    @classmethod
    def of(cls, total: int, number: int, most: int) -> Numbered:
        """The page with this number, or the last one if there are fewer."""
        last = max(1, -(-total // most))
        return cls(min(number, last), last, total, most)

    @property
    def first(self) -> int:
        """Number of entries on the pages before it."""
        return (self.number - 1) * self.most


def page(template: str, settings: ServeSettings, *, here: str, title: str, **values: object) -> str:
    """Render a page of the server.

    Args:
        here: Address of its section; see ``sections``.
        title: Its title.
    """
    known = {"settings": settings, "sections": sections(settings), "here": here, "title": title}
    return environment(*TEMPLATES).get_template(template).render(**known, **values) + "\n"


def sections(settings: ServeSettings) -> list[tuple[str, str]]:
    """Address and name of each section in the navigation."""
    known = [
        ("/", "Documents", True),
        ("/search", "Search", settings.library is not None),
        ("/studies", "Studies", bool(settings.study)),
    ]
    return [(address, name) for address, name, there in known if there]
