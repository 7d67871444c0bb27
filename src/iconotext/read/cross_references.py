"""References by label in the HTML that readers make: they are resolved once all figures are known.

A reader writes ``<a href="#LABEL" data-shown="Fig. %s">fallback text</a>``. ``%s`` stands for the number of the figure
or table: the one in its caption, else counted in this file. A text without ``%s`` is the author's own. Where there is
none, a figure or table is named with its number and a heading by its text, but no figure by its caption, which would
put other sentences into the one that refers to it. A figure without a number is "the figure". For a label that is not
in the file, and does not say what it names, the fallback text is shown.
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
from iconotext.read.captions import CAPTION_LABEL

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

HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
MAX_TITLE = 300  # maximum length of a heading that is shown for a label
NUMREF = "Fig. %s"  # of Sphinx, which has "Table %s" for a table and the title of a section
NAME_AND_NUMBER = re.compile(r"(?:Fig\.|Figure|Table) %s")
KIND = re.compile(
    r"(?:^|[-_:.])(?:(?P<figure>fig(?:ure)?)|(?P<table>tab(?:le)?|tbl)|(?P<section>(?:sub){0,2}sec(?:tion)?)"
    r"|(?P<chapter>chap(?:ter)?)|(?P<equation>eqn?|equation))(?:[-_:.]|$)",
    re.IGNORECASE,
)
"""The part of a label that says what it names."""
NAMED = re.compile(
    r"(?<!\w)(?:fig(?:ur[ea]|uur|\.)?s?|figs\.|abb(?:ildung(?:en)?|\.)|tab(?:l[ea]|ela|ella|elle|leau|\.)s?|tables"
    r"|рис(?:ун(?:ок|ке|ка)|\.)|табл(?:иц[аеы]|\.)|hình|bảng|[图図圖表]|그림|표|(?:sub)?sec(?:tion|\.)s?|chapters?|chap\.|kapitel"
    r"|eq(?:uation|n?\.)s?)[\s~]*$",
    re.IGNORECASE,
)
"""The name that the author has written before a reference: there only the number is missing."""
LONGEST_NAME = 30  # characters before a reference in which its name is looked for


def reference(label: str, text: str, otherwise: str, raw: str = "") -> str:
    """Return the HTML of a reference; ``otherwise`` is its fallback text, ``raw`` its markup in the source."""
    attributes = f'href="#{escape(label)}" data-shown="{escape(text)}"' + (f' data-raw="{escape(raw)}"' if raw else "")
    return f"<a {attributes}>{escape(otherwise)}</a>"


def numref_text(title: str) -> str:
    """Return the text to show for ``{numref}`` with a title of its own, or "" without one."""
    return title.replace("{number}", "%s").replace("{name}", "") or NUMREF


def fill_references(root: Any) -> dict[str, list[str]]:
    """Set the text of every reference; return the texts by the markup of their references in the source, in order."""
    references, kinds = root.xpath(".//a[@data-shown]"), _kinds(root)
    for link in root.iterfind(".//a[@href]"):
        if link.get("href") in kinds:  # of MyST, which finds labels also without "#": [the tram](fig-tram)
            link.set("href", f"#{link.get('href')}")
    if not references:
        return {}
    # Counted in this file, since only a project's builder knows the order of its files.
    numbers, titles = _numbers(root), _headings(root)
    texts: dict[str, list[str]] = {}
    for link in references:
        label, link_text = link.get("href", "")[1:], link.get("data-shown")
        kind, name = kinds.get(label) or _kind(label, link_text), ""
        if link_text and "%s" not in link_text:
            text = link_text
        elif label in titles and link_text in ("", NUMREF):
            text = titles[label]
        elif label in numbers:
            text = _numbered(link, link_text, kind).replace("%s", numbers[label], 1)
        else:
            name = _take_name(link) if kind else ""
            text = "" if name or not kind else _unnumbered(link, kind)
        if name or text:
            link.text = name or text
            for child in list(link):
                link.remove(child)
        texts.setdefault(link.get("data-raw", ""), []).append("" if name else "".join(link.itertext()))
    return texts


def _kind(label: str, link_text: str) -> str | None:
    """Return what a label names that is not in the file; None if neither it nor the reference says so."""
    match = KIND.search(label)
    return match.lastgroup if match else "figure" if "%s" in link_text else None


def _numbered(link: Any, link_text: str, kind: str | None) -> str:
    """Return the text of a reference to something with a number, with ``%s`` in its place."""
    if link_text in ("", NUMREF):
        link_text = "Table %s" if kind == "table" else link_text or "Figure %s"
    return "%s" if NAME_AND_NUMBER.fullmatch(link_text) and NAMED.search(_before(link)) else link_text


def _take_name(link: Any) -> str:
    """Take the name that the author wrote before a reference out of the text there: it becomes the text of the link."""
    name = NAMED.search(_before(link))
    previous, parent = link.getprevious(), link.getparent()
    if name is None or (previous is not None and not previous.tail):
        return ""
    if previous is None:
        parent.text = parent.text[: -len(name[0])]
    else:
        previous.tail = previous.tail[: -len(name[0])]
    return name[0].rstrip(" \t\n\xa0~")


def _unnumbered(link: Any, kind: str) -> str:
    """Return the text of a reference to something without a number."""
    before = _before(link).rstrip()
    return f"The {kind}" if not before or before[-1] in ".!?" else f"the {kind}"


def _before(link: Any) -> str:
    """Return the end of the text before a reference in its paragraph."""
    previous = link.getprevious()
    text = link.getparent().text if previous is None else previous.tail or "".join(previous.itertext())
    return (text or "")[-LONGEST_NAME:]


def _numbers(root: Any) -> dict[str, str]:
    """Return the number of each label, for figures and tables with captions; parts of figure 3 are ``3 (a)``, ..."""
    numbers: dict[str, str] = {}
    counters: dict[Any, Iterator[int]] = {kind: count(1) for kind in NUMBERED}
    for element in root.iter(*NUMBERED):
        caption = element.find(f".//{NUMBERED[element.tag]}")
        if caption is None:
            continue
        parent = next(element.iterancestors("figure"), None) if element.tag == "figure" else None
        whole = numbers.get(parent.get("id", "")) if parent is not None else None
        if whole is not None:
            letter = chr(ord("a") + next(counters.setdefault(parent, count(0))) % 26)
            number = f"{whole} ({letter})"
        else:
            counted = str(next(counters[element.tag]))
            number = _own_number(caption) or counted
        for name in _names(element):
            numbers.setdefault(name, number)
    return numbers


def _own_number(caption: Any) -> str:
    """Return the number that the author wrote at the beginning of a caption; "" without one."""
    label = CAPTION_LABEL.match("".join(caption.itertext()).strip())
    return re.sub(r"^\D+|\W+$", "", label[0]) if label else ""


def _names(element: Any) -> list[str]:
    """Return the identifiers of an element, also those that ``anchors`` put first in it or right before it."""
    marks = [child for child in element.iterchildren("span") if child.get("id") and not len(child) and not child.text]
    before = element.getprevious()
    while before is not None and before.tag == "span" and before.get("id") and not len(before) and not before.text:
        marks.append(before)
        before = before.getprevious()
    return [name for name in (element.get("id"), *(mark.get("id") for mark in marks)) if name]


def _headings(root: Any) -> dict[str, str]:
    """Return the text of the heading that each label names."""
    titles: dict[str, str] = {}
    for heading in root.iter(*HEADINGS):
        text = SPACE.sub(" ", "".join(heading.itertext())).strip()
        for name in _names(heading) if text else ():
            titles.setdefault(name, text[:MAX_TITLE])
    return titles


def _kinds(root: Any) -> dict[str, str]:
    """Return for each label of a figure, a picture or a table what it names."""
    named = root.iter("figure", "img", "table")
    return {name: "table" if element.tag == "table" else "figure" for element in named for name in _names(element)}
