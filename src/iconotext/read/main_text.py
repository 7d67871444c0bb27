"""The main text of a web page, without menus, footers, cookie banners and share buttons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lxml import etree
from lxml import html as lxml_html

Element = Any  # lxml has no types of its own that mypy could check


@dataclass(slots=True)
class Extent:
    """The amount of text in an element."""

    letters: int = 0  # number of characters without white space
    words: int = 0  # number of words; a word may span several elements
    links: int = 0
    linked: int = 0  # length of the text of links
    images: int = 0
    _empty: bool = True
    _open_left: bool = False  # whether the text begins in the middle of a word
    _open_right: bool = False  # whether it ends in the middle of one

    @property
    def length(self) -> int:
        """The number of characters of the text, with one space between words."""
        return self.letters + max(self.words - 1, 0)

    def add_text(self, text: str | None) -> None:
        """Append text."""
        if text:
            words = text.split()
            self._join(sum(map(len, words)), len(words), not text[0].isspace(), not text[-1].isspace())

    def add(self, other: Extent) -> None:
        """Append the content of another element."""
        if not other._empty:
            self._join(other.letters, other.words, other._open_left, other._open_right)
        self.links += other.links
        self.linked += other.linked
        self.images += other.images

    def _join(self, letters: int, words: int, open_left: bool, open_right: bool) -> None:
        self.letters += letters
        self.words += words - (self._open_right and open_left)
        self._open_left = open_left if self._empty else self._open_left
        self._open_right = open_right
        self._empty = False


def measure(root: Element) -> dict[Element, Extent]:
    """Return the extents of an element and of all elements in it, innermost first."""
    extents: dict[Element, Extent] = {}
    for element in reversed(list(root.iter(etree.Element))):
        extent = Extent()
        extent.add_text(element.text)
        for part in element:
            if part in extents:
                extent.add(extents[part])
            extent.add_text(part.tail)
        if element.tag == "a" and not (element.get("href") or "#").startswith("#"):
            extent.links += 1
            extent.linked += extent.length
        extent.images += element.tag == "img"
        extents[element] = extent
    return extents


BOILERPLATE_TAGS = ("nav", "footer", "aside", "form", "menu")
BOILERPLATE_ROLES = frozenset(
    ("navigation banner contentinfo complementary search menu menubar toolbar dialog alertdialog").split()
)
BOILERPLATE_NAME = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation)?|menu|breadcrumbs?|side-?bar|footer|site-?header|masthead|topbar|cookies?|consent|gdpr|"
    r"share|sharing|social|addtoany|related|recommend(?:ed|ations)?|newsletter|subscri(?:be|ption)|comments?|disqus|promo|"
    r"advert(?:isement)?s?|ads?|sponsor(?:ed)?|pagination|pager|popup|modal|skip-?link|toc|banner|author-?bio|tags|navbox|"
    r"byline-?links|mw-editsection|headerlink|hash-link|noprint|visually-hidden|sr-only|screen-reader-text)"
    r"(?:$|[\s_-])",
    re.IGNORECASE,
)
ARTICLE = (".//main", ".//*[@role='main']", ".//article", ".//*[@itemprop='articleBody']")
ENOUGH = 0.5  # share of the page's text that an element must hold to be taken for the article
BLOCKS = (
    "blockquote br caption center col colgroup dd div dl dt fieldset form legend optgroup option p pre table td"
    " textarea tfoot th thead tr ul li h1 h2 h3 h4 h5 h6"
).split()
MAX_COMPARED = 5_000
"""Above this number of blocks trafilatura's comparison with other methods, which is quadratic, is skipped."""


def keep_main_text(root: Element) -> Element:
    """Return the element with the article, without the boilerplate of the page.

    It is the element that the page itself marks (``<main>``, a single ``<article>``), else the smallest one with the
    main text that trafilatura extracts. A page on which nothing looks like an article stays whole.
    """
    body = root.find("body")
    body = root if body is None else body
    extents = measure(body)
    total = extents[body].length
    boilerplate = [e for e in extents if e is not body and _is_boilerplate(e, extents[e].length, total)]
    remove(boilerplate)
    extents = measure(body)
    article = _named_article(body, extents)
    if article is None:
        article = _smallest_article(root, body, extents)
    remove([element for element in _edges(article, extents) if _is_link_list(extents[element])])
    return article


def remove(elements: Iterable[Element]) -> None:
    """Remove elements and their contents from their tree; the text after each stays.

    The text that comes together at one place is joined once: added piece by piece, it would be copied for every piece.
    """
    doomed = set(elements)
    for parent in dict.fromkeys(element.getparent() for element in doomed):
        if parent is None or parent in doomed:
            continue
        place, attribute, texts = parent, "text", [parent.text]
        for part in list(parent):
            if part in doomed:
                texts.append(part.tail)
                parent.remove(part)
                continue
            if len(texts) > 1:
                setattr(place, attribute, "".join(filter(None, texts)))
            place, attribute, texts = part, "tail", [part.tail]
        if len(texts) > 1:
            setattr(place, attribute, "".join(filter(None, texts)))


def _edges(article: Element, extents: dict[Element, Extent]) -> list[Element]:
    """Return the elements before the first and after the last paragraph of running text; none if there is no such."""
    order = [element for element in article.iter() if isinstance(element.tag, str)]
    running = [n for n, element in enumerate(order) if element.tag == "p" and extents[element].length > 60]
    if not running:
        return []
    first = {order[running[0]], *order[running[0]].iterancestors()}
    before = [element for element in order[: running[0]] if element not in first]
    inside = set(order[running[-1]].iter())
    after = [element for element in order[running[-1] :] if element not in inside]
    return [element for element in before + after if element.tag in ("ul", "ol", "div", "p", "section", "header")]


def _is_boilerplate(element: Element, length: int, total: int) -> bool:
    if element.tag in ("html", "body", "main", "article"):
        return False
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    hidden = hidden or "display:none" in (element.get("style") or "").replace(" ", "").lower()
    if element.tag in ("img", "picture", "figure", "figcaption", "noscript"):
        return bool(element.get("hidden") is not None)
    if hidden or element.tag in BOILERPLATE_TAGS or (element.get("role") or "").lower() in BOILERPLATE_ROLES:
        return length < ENOUGH * total or hidden
    if element.tag == "header" and not any(above.tag in ("article", "main") for above in element.iterancestors()):
        return element.find(".//h1") is None
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    # A wrapper can be called "content-with-sidebar": an element with half of the text is not boilerplate.
    return length < ENOUGH * total and element.tag != "h1" and bool(BOILERPLATE_NAME.search(names))


def _named_article(body: Element, extents: dict[Element, Extent]) -> Element | None:
    """Return the element that the page marks as its article, if there is one such with most of the text."""
    for path in ARTICLE:
        articles = body.findall(path)
        if len(articles) == 1 and extents[articles[0]].length >= ENOUGH * extents[body].length:
            return articles[0]
    return None


def _smallest_article(root: Element, body: Element, extents: dict[Element, Extent]) -> Element:
    """Return the smallest element with the main text as trafilatura sees it; the whole page if it sees too little."""
    if not any(True for _ in body.iter("div", "section", "table")):
        return body  # nothing but paragraphs: the page is the article
    from trafilatura import extract

    # For each of these, trafilatura would add empty cells, and count them again and again.
    etree.strip_attributes(root, "colspan", "rowspan")
    has_many_blocks = next(islice(root.iter(*BLOCKS), MAX_COMPARED, None), None) is not None
    page = lxml_html.tostring(root, encoding="unicode")
    # Only the choice of paragraphs is used: the output itself lacks many pictures and their places in the text.
    text = extract(page, fast=has_many_blocks, favor_recall=True, include_comments=False) or ""
    lines = {_letters(line) for line in text.splitlines()}
    characters: Counter[Element] = Counter()  # characters of such paragraphs within each element
    paragraphs = set()
    for paragraph in body.iter("p", "li", "blockquote", "h1", "h2", "h3", "td"):
        length = extents[paragraph].length
        if length > 0 and _letters(paragraph.text_content()) in lines:
            paragraphs.add(paragraph)
            characters.update(dict.fromkeys((paragraph, *paragraph.iterancestors()), length))
    needed = 0.95 * sum(extents[paragraph].length for paragraph in paragraphs)
    if needed < 200:
        return body
    best = body
    while True:
        inside = next((part for part in best if characters[part] >= needed), None)
        if inside is None or inside in paragraphs:
            return best
        best = inside


def _is_link_list(extent: Extent) -> bool:
    """Return whether an element is little more than short links: previous and next, tags, share buttons."""
    if extent.images:
        return False
    return extent.links >= 2 and extent.linked > 0.8 * max(extent.length, 1) and extent.linked / extent.links < 30


def _letters(text: str) -> str:
    return "".join(re.findall(r"\w+", text)).casefold()
