"""The main text of a web page: menus, footers, cookie banners and share buttons are not the article."""

from __future__ import annotations

import re
from typing import Any

Element = Any  # lxml has no types of its own that mypy could check

FURNITURE_TAGS = ("nav", "footer", "aside", "form", "menu")
FURNITURE_ROLES = frozenset(
    ("navigation banner contentinfo complementary search menu menubar toolbar dialog alertdialog").split()
)
FURNITURE_NAME = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|igation)?|menu|breadcrumbs?|side-?bar|footer|site-?header|masthead|topbar|cookies?|consent|gdpr|"
    r"share|sharing|social|addtoany|related|recommend(?:ed|ations)?|newsletter|subscri(?:be|ption)|comments?|disqus|promo|"
    r"advert(?:isement)?s?|ads?|sponsor(?:ed)?|pagination|pager|popup|modal|skip-?link|toc|banner|author-?bio|tags|navbox|"
    r"byline-?links|mw-editsection|headerlink|hash-link|noprint|visually-hidden|sr-only|screen-reader-text)"
    r"(?:$|[\s_-])",
    re.IGNORECASE,
)
ARTICLE = (
    ".//main",
    ".//*[@role='main']",
    ".//article",
    ".//*[@itemprop='articleBody']",
)
ENOUGH = 0.5  # share of the page's text that an element must hold to be taken for the article


def keep_main_text(root: Element) -> Element:
    """The element that holds the article, with the furniture of the page removed from it.

    An element that the page itself names (``<main>``, one ``<article>``) counts, else the smallest one that holds
    what trafilatura takes for the main text. A page on which nothing looks like an article is kept whole.
    """
    body = root.find("body")
    body = root if body is None else body
    total = _length(body)
    for element in list(body.iter()):
        if isinstance(element.tag, str) and element is not body and _is_furniture(element, total):
            _remove(element)
    article = _named_article(body)
    if article is None:
        article = _found_article(root, body)
    for element in _edges(article):
        if _is_link_list(element):
            _remove(element)
    return article


def _edges(article: Element) -> list[Element]:
    """Elements wholly before the first or after the last paragraph of running text; a list of links between is text."""
    order = [element for element in article.iter() if isinstance(element.tag, str)]
    running = [n for n, element in enumerate(order) if element.tag == "p" and _length(element) > 60]
    if not running:
        return []
    first = {id(element) for element in (order[running[0]], *order[running[0]].iterancestors())}
    before = [element for element in order[: running[0]] if id(element) not in first]
    inside = {id(element) for element in order[running[-1]].iter()}
    after = [element for element in order[running[-1] :] if id(element) not in inside]
    return [element for element in before + after if element.tag in ("ul", "ol", "div", "p", "section", "header")]


def _is_furniture(element: Element, total: int) -> bool:
    if element.tag in ("html", "body", "main", "article"):
        return False
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    hidden = hidden or "display:none" in (element.get("style") or "").replace(" ", "").lower()
    if element.tag in ("img", "picture", "figure", "figcaption", "noscript"):
        return bool(element.get("hidden") is not None)
    if hidden or element.tag in FURNITURE_TAGS or (element.get("role") or "").lower() in FURNITURE_ROLES:
        return _length(element) < ENOUGH * total or hidden
    if element.tag == "header" and not _inside_article(element):
        return element.find(".//h1") is None
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    # A wrapper can be called "content-with-sidebar": what holds half of the text is not furniture.
    return bool(FURNITURE_NAME.search(names)) and element.tag != "h1" and _length(element) < ENOUGH * total


def _inside_article(element: Element) -> bool:
    return any(ancestor.tag in ("article", "main") for ancestor in element.iterancestors())


def _named_article(body: Element) -> Element | None:
    total = _length(body)
    for path in ARTICLE:
        found = body.findall(path)
        if len(found) == 1 and _length(found[0]) >= ENOUGH * total:
            return found[0]
    return None


def _found_article(root: Element, body: Element) -> Element:
    """Smallest element with nearly all of the paragraphs that trafilatura keeps."""
    paragraphs = [p for p in body.iter("p", "li", "blockquote", "h1", "h2", "h3", "td") if _length(p) > 0]
    if not any(True for _ in body.iter("div", "section", "table")):
        return body  # nothing but paragraphs: the page is the article
    from lxml.html import tostring
    from trafilatura import extract

    text = extract(tostring(root, encoding="unicode"), favor_recall=True, include_comments=False) or ""
    lines = {_letters(line) for line in text.splitlines()}
    kept = [p for p in paragraphs if _letters(p.text_content()) in lines]
    best = body
    wanted = 0.95 * sum(map(_length, kept))
    if not kept or wanted < 200:
        return body
    while True:
        inside = next(
            (c for c in best if isinstance(c.tag, str) and sum(_length(p) for p in kept if _within(p, c)) >= wanted),
            None,
        )
        if inside is None or inside in kept:
            return best
        best = inside


def _within(element: Element, container: Element) -> bool:
    return element is container or any(ancestor is container for ancestor in element.iterancestors())


def _is_link_list(element: Element) -> bool:
    """Whether an element is little but short links to elsewhere: previous and next, tags, share buttons."""
    links = element.findall(".//a")
    if len(links) < 2 or element.find(".//img") is not None:
        return False
    outside = [a for a in links if not (a.get("href") or "#").startswith("#")]
    linked = sum(_length(a) for a in outside)
    return len(outside) >= 2 and linked > 0.8 * max(_length(element), 1) and linked / len(outside) < 30


def _remove(element: Element) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def _length(element: Element) -> int:
    return len(" ".join(element.text_content().split()))


def _letters(text: str) -> str:
    return "".join(re.findall(r"\w+", text)).casefold()
