"""References by label in the HTML that readers make: they are resolved once all figures are known.

A reader writes ``<a href="#LABEL" data-shown="Fig. %s">fallback text</a>``. ``%s`` stands for the number of the figure
or table, counted in this file; without ``%s`` the caption or title of the labelled element is shown. For a label that
is not in the file the fallback text is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import count
from typing import Any
from urllib.parse import quote

from iconotext.read.address import MADE_BY_CODE
from iconotext.read.blocks import SPACE

TITLED = re.compile(r"\s*+([^<]*?)\s*+<([^<>]{1,500})>\s*+", re.DOTALL)
"""The text of a reference with a title of its own: ``the old tram <fig-tram>``."""

ENDINGS = ("svg", "png", "gif", "jpeg", "jpg", "webp", "avif")
"""Possible endings of ``plan.*``, in the order in which Sphinx prefers them for a page."""


def figure(images: Iterable[str], caption: str = "", *, names: Sequence[str] = ()) -> str:
    """Return the HTML of a figure."""
    names = [name for name in names if name]
    first = f' id="{escape(names[0])}"' if names else ""
    below = f"<figcaption>{caption}</figcaption>" if caption.strip() else ""
    return f"<figure{first}>{anchors(names[1:])}{''.join(images)}{below}</figure>"


def anchors(names: Iterable[str]) -> str:
    """Return the HTML of empty elements with identifiers; right before or first in an element, they are its own."""
    return "".join(f'<span id="{escape(name)}"></span>' for name in names)


def picture(address: str, alt: str | None = None) -> str:
    """Return the HTML of a picture; ``plan.*`` means an existing file of that name."""
    return _img(picture_attributes(address, alt))


def picture_attributes(address: str, alt: str | None = None) -> dict[str, str]:
    """Return the attributes of an ``<img>``; an empty ``alt`` marks decoration, and None leaves it out."""
    stem = address.removesuffix(".*")
    attributes = {"src": address} if stem == address else _first_of([f"{stem}.{ending}" for ending in ENDINGS])
    return attributes | ({} if alt is None else {"alt": alt})


def made_by_code(name: str, alt: str | None = None, *, files: Sequence[str] = ()) -> str:
    """Return the HTML of a picture that code makes when the document is rendered."""
    placeholder = f"{MADE_BY_CODE}:{name}"
    return _img(_first_of([placeholder, *files]) | ({"alt": alt} if alt else {}))


def _img(attributes: dict[str, str]) -> str:
    return "<img" + "".join(f' {name}="{escape(value)}"' for name, value in attributes.items()) + ">"


def _first_of(addresses: Sequence[str]) -> dict[str, str]:
    # As a srcset with falling widths: of these addresses the first one that exists is taken.
    sized = (f"{quote(a, safe='/:.%~')} {len(addresses) - n}w" for n, a in enumerate(addresses))
    return {"srcset": ", ".join(sized)}


NUMBERED = {"figure": "figcaption", "table": "caption"}
"""Numbered elements, counted separately by kind, and the child element that each must have."""

TITLES = frozenset("h1 h2 h3 h4 h5 h6 figcaption caption".split())
MAX_TITLE = 300  # maximum length of a caption or title that is shown for a label


def reference(label: str, text: str, otherwise: str, raw: str = "") -> str:
    """Return the HTML of a reference; ``otherwise`` is its fallback text, ``raw`` its markup in the source."""
    attributes = f'href="#{escape(label)}" data-shown="{escape(text)}"' + (f' data-raw="{escape(raw)}"' if raw else "")
    return f"<a {attributes}>{escape(otherwise)}</a>"


def numref_text(title: str) -> str:
    """Return the text to show for ``{numref}`` with a title of its own, or "" without one."""
    return title.replace("{number}", "%s").replace("{name}", "") or "Fig. %s"


def fill_references(root: Any) -> dict[str, str]:
    """Set the text of every reference; return each text by the markup of its reference in the source."""
    references = root.xpath(".//a[@data-shown]")
    if not references:
        return {}
    # Counted in this file, since only a project's builder knows the order of its files.
    numbers, titles = _numbers(root), _titles(root)
    texts: dict[str, str] = {}
    for link in references:
        label, link_text = link.get("href", "")[1:], link.get("data-shown")
        if "%s" in link_text:
            text = link_text.replace("%s", numbers[label], 1) if label in numbers else ""
        else:
            text = link_text or titles.get(label, "")
        if text:
            link.text = text
            for child in list(link):
                link.remove(child)
        texts[link.get("data-raw", "")] = "".join(link.itertext())
    return texts


def _numbers(root: Any) -> dict[str, str]:
    """Return the number of each label, for figures and tables with captions; parts of figure 3 are ``3 (a)``, ..."""
    numbers: dict[str, str] = {}
    counters: dict[Any, Iterator[int]] = {kind: count(1) for kind in NUMBERED}
    for element in root.iter(*NUMBERED):
        if element.find(f".//{NUMBERED[element.tag]}") is None:
            continue
        parent = next(element.iterancestors("figure"), None) if element.tag == "figure" else None
        whole = numbers.get(parent.get("id", "")) if parent is not None else None
        if whole is not None:
            letter = chr(ord("a") + next(counters.setdefault(parent, count(0))) % 26)
            number = f"{whole} ({letter})"
        else:
            number = str(next(counters[element.tag]))
        for name in _names(element):
            numbers.setdefault(name, number)
    return numbers


def _names(element: Any) -> list[str]:
    """Return the identifiers of an element, also those that ``anchors`` put first in it or right before it."""
    marks = [child for child in element.iterchildren("span") if child.get("id") and not len(child) and not child.text]
    before = element.getprevious()
    while before is not None and before.tag == "span" and before.get("id") and not len(before) and not before.text:
        marks.append(before)
        before = before.getprevious()
    return [name for name in (element.get("id"), *(mark.get("id") for mark in marks)) if name]


def _titles(root: Any) -> dict[str, str]:
    """Return the shown text of each label: the caption of a figure or table, or the text of a heading."""
    titles: dict[str, str] = {}
    for element in root.iter(*TITLES):
        owner = element.getparent() if element.tag in ("figcaption", "caption") else element
        text = SPACE.sub(" ", "".join(element.itertext())).strip()
        if text and owner is not None:
            for name in _names(owner):
                titles.setdefault(name, text[:MAX_TITLE])
    return titles
