"""The HTML that pandoc makes → HTML as our reader knows it: every reference a link, every label at its picture."""

from __future__ import annotations

import re
from urllib.parse import unquote

from iconotext.read.blocks import LABEL
from iconotext.read.html import Element

NUMBER = re.compile(r"^Figure (?=\d)")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MAX_NAME = 100
"""Characters of a heading in a reference to it."""
MAX_TARGETS = 50
"""Places that one reference points at."""
NO_TEXT = frozenset(("toctree", "contents", "index", "highlight", "currentmodule", "meta", "sectnum"))
"""Directives of reStructuredText whose lines are no text of the document."""


def mend(tree: Element, format_: str) -> str | None:
    """Change pandoc's page in place; returns the title of the document, None where it has none."""
    title = _title(tree)
    for link in list(tree.iter("a")):
        if {"footnote-ref", "footnote-back"} & set((link.get("class") or "").split()):
            _drop(link)
    for image in tree.iter("img"):
        _own_alt(image)
    if format_ == "org":
        for span in list(tree.iter("span")):
            if span.get("class") == "spurious-link":
                span.tag = "a"
                span.set("href", f"#{span.get('target') or ''}")
    elif format_ == "typst":
        for span in list(tree.iter("span")):
            _label_to_figure(span)
    called, captions = _names(tree)
    for link in list(tree.iter("a")):
        _link_to_all(link, called, captions, number_only=format_ == "org")
    return title


def _title(tree: Element) -> str | None:
    """The title; authors and dates, which stand below it and are no text, are removed."""
    header = tree.find(".//header[@id='title-block-header']")
    if header is None:
        return None
    title = None
    for element in list(header.iter()):
        match element.get("class"):
            case "title":
                title = " ".join(element.text_content().split()) or None
            case "author" | "date" | "abstract-title":
                _drop(element)
    return title


def _own_alt(image: Element) -> None:
    """Org has the alternative text at the figure; "image" is pandoc's word for a picture without any."""
    if image.get("alt") == "image":
        del image.attrib["alt"]
    figure = image.getparent()
    if figure is not None and figure.tag == "figure" and figure.get("alt") and not image.get("alt"):
        image.set("alt", figure.get("alt"))


def _label_to_figure(span: Element) -> None:
    """A label of Typst, which stands in a paragraph of its own below its figure, becomes that figure's identifier."""
    paragraph = span.getparent()
    alone = (
        paragraph is not None and paragraph.tag == "p" and len(paragraph) == 1 and not paragraph.text_content().strip()
    )
    figure = paragraph.getprevious() if alone else None
    if figure is not None and figure.tag == "figure" and not figure.get("id") and span.get("id"):
        figure.set("id", span.get("id"))
        _drop(paragraph)


def _names(tree: Element) -> tuple[dict[str, str], dict[str, str]]:
    """What to call each place that can be pointed at: a figure by its number, a heading by its text, others not ("").

    Figures with a caption are counted, those within them lettered; a label at the beginning of a caption counts more.

    Returns:
        These names, and the captions of figures, which pandoc puts in references of DocBook.
    """
    found = {element.get("id"): "" for element in tree.iter() if element.get("id")}
    captions: dict[str, str] = {}
    number = 0
    for element in tree.iter("figure", "h1", "h2", "h3", "h4", "h5", "h6"):
        if element.tag != "figure":
            found[element.get("id") or ""] = " ".join(element.text_content().split())[:MAX_NAME]
            continue
        caption = element.find("figcaption")
        if caption is None or any(True for _ in element.iterancestors("figure")):
            continue
        number += 1
        said = " ".join(caption.text_content().split())
        captions[element.get("id") or ""] = said
        own = LABEL.match(said)
        name = own[0].rstrip(" .:|–—-") if own else f"Figure {number}"
        parts = list(element.iter("figure"))[1:]
        for part, letter in zip((element, *parts), ("", *LETTERS), strict=False):
            for each in (part, part.getparent(), *part.iter("img", "div", "span")):
                if each.get("id") and (each is not part.getparent() or len(each) == 1):
                    found[each.get("id")] = name + letter
    return found, captions


def _link_to_all(link: Element, called: dict[str, str], captions: dict[str, str], *, number_only: bool) -> None:
    """Let a reference say in words what it points at; one to several places becomes links within each other."""
    href = unquote(link.get("href") or "")
    name = href.removeprefix("#")
    if not name or (not href.startswith("#") and name not in called):
        return
    names = [name] if name in called else [part for part in re.split(r"[,\s]+", name)[:MAX_TARGETS] if part] or [name]
    text = " ".join(link.text_content().split())
    if text in ("", name, f"[{name}]", captions.get(name)) or link.get("data-reference"):
        said = [called.get(each) or each for each in names]
        if number_only or link.get("data-reference-type") == "ref":  # the author writes "Figure" before it
            said = [NUMBER.sub("", each) for each in said]
        for part in list(link):
            link.remove(part)
        link.text = ", ".join(said)
    link.set("href", f"#{names[-1]}")
    for each in names[:-1]:
        inner = link.makeelement("a", href=f"#{each}")
        inner.text, link.text = link.text, None
        inner.extend(list(link))
        link.append(inner)


def _drop(element: Element) -> None:
    """Take an element out; the text behind it stays."""
    parent = element.getparent()
    if parent is None:
        return
    before, tail = element.getprevious(), element.tail or ""
    if before is not None:
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    parent.remove(element)
