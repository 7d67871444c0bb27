"""The HTML that pandoc makes → HTML as our reader knows it: every reference a link, every label at its picture."""

from __future__ import annotations

import re
from urllib.parse import unquote

from lxml import etree

from iconotext.read.cross_references import fill_references
from iconotext.read.html import Element

KINDS = {"figure": "Figure", "table": "Table", **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "")}
"""What is referred to, and what it is called; a heading by its text."""
DROPPED = "dropped"
"""Tag of elements that are taken out together in the end: text behind each is then moved only once."""
CLOSING = tuple(".,;:!?)")
MAX_TARGETS = 50
"""Places that one reference points at."""


def mend(tree: Element, format_: str) -> str | None:
    """Change pandoc's page in place; returns the title of the document, None where it has none."""
    title = _title(tree)
    for link in list(tree.iter("a")):
        if {"footnote-ref", "footnote-back"} & set((link.get("class") or "").split()):
            link.tag = DROPPED
    _close_gaps(tree)
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
    etree.strip_elements(tree, DROPPED, with_tail=False)
    kinds = {element.get("id"): str(element.tag) for element in tree.iter() if element.get("id")}
    captions = {
        f.get("id"): _said(f.find("figcaption")) for f in tree.iter("figure") if f.find("figcaption") is not None
    }
    for link in list(tree.iter("a")):
        _to_labels(link, kinds, captions, number_only=format_ == "org")
    fill_references(tree)
    return title


def _close_gaps(tree: Element) -> None:
    """Take out citations, which have no words here, with the space that leads from the text to each."""
    for span in list(tree.iter("span")):
        if span.get("class") != "citation" or span.text or len(span):
            continue
        before, parent = span.getprevious(), span.getparent()
        if before is not None:
            before.tail = _without_gap(before.tail, span.tail)
        elif parent is not None:
            parent.text = _without_gap(parent.text, span.tail)
        span.tag = DROPPED


def _without_gap(text: str | None, after: str | None) -> str | None:
    return text.rstrip() if text and (after or "").startswith(CLOSING) else text


def _title(tree: Element) -> str | None:
    """The title; authors and dates, which stand below it and are no text, are removed."""
    header = tree.find(".//header[@id='title-block-header']")
    if header is None:
        return None
    title = None
    for element in header.iter():
        match element.get("class"):
            case "title":
                title = " ".join(element.text_content().split()) or None
            case "author" | "date" | "abstract-title":
                element.tag = DROPPED
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
    # Without counting what is in the paragraph, which may hold thousands of labels.
    only = paragraph is not None and paragraph.tag == "p" and span.getprevious() is None and span.getnext() is None
    alone = only and not paragraph.text_content().strip()
    figure = paragraph.getprevious() if alone else None
    if figure is not None and figure.tag == "figure" and not figure.get("id") and span.get("id"):
        figure.set("id", span.get("id"))
        paragraph.tag = DROPPED


def _said(element: Element) -> str:
    return " ".join(element.text_content().split())


def _to_labels(link: Element, kinds: dict[str, str], captions: dict[str, str], *, number_only: bool) -> None:
    """Let a reference show what ``fill_references`` finds for its label; one to several becomes a link to each.

    Args:
        kinds: The element that each label is at.
        captions: Those of figures, which pandoc shows in references of DocBook.
        number_only: The author writes "Figure" before a reference, as in Org and with LaTeX's ``ref``.
    """
    href = unquote(link.get("href") or "")
    name = href.removeprefix("#")
    if not name or (not href.startswith("#") and name not in kinds):
        return
    names = [name] if name in kinds else [part for part in re.split(r"[,\s]+", name)[:MAX_TARGETS] if part] or [name]
    text = _said(link)
    bare = text in ("", name, f"[{name}]", captions.get(name)) or link.get("data-reference") is not None
    number_only = number_only or link.get("data-reference-type") == "ref"
    link.set("href", f"#{names[-1]}")
    for each in names[:-1]:
        other = link.makeelement("a", href=f"#{each}")
        if bare:
            other.tail = ", "
            link.addprevious(other)
            _show(other, each, kinds, number_only=number_only)
        else:  # the author's own words, within a link to each
            other.text, link.text = link.text, None
            other.extend(list(link))
            link.append(other)
    if bare:
        _show(link, names[-1], kinds, number_only=number_only)


def _show(link: Element, label: str, kinds: dict[str, str], *, number_only: bool) -> None:
    kind = KINDS.get(kinds.get(label, ""))
    link.text = link.text or label
    if kind is not None:
        link.set("data-shown", "%s" if kind and number_only else f"{kind} %s" if kind else "")
