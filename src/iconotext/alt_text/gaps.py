"""Finds gaps in a file that an alternative text can fill: pictures without one in Markdown, HTML, or Word's XML.

What is found looks like a picture; only a reader of the format can tell whether it is one (``alt_text.insertion``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape, unescape
from typing import Literal

from iconotext.read.docx.images import WRITTEN_BY_WORD

Markup = Literal["attribute", "markdown", "plain", "shortcode"]

MARKDOWN = re.compile(r"!\[([ \t]{0,20}+)\](?=[(\[])")
FILLED = re.compile(r"!\[((?:\\[^\n]|[^\[\]\\]){0,2000}+)\](?=\(|\[[^\]])")
"""The same with any text, except ``![name][]``, where the text names the address."""
WIKI = re.compile(r"!\[\[[^\[\]|#\n]{1,300}()\]\]")
SHORTCODE = re.compile(r"\{\{[<%]\s{0,20}+figure(?=\s)")
FIGURE = re.compile(r"\]\([^()\n]{1,500}+\)\{(?![^{}\n]*\bfig-alt=)[^{}\n#]{0,200}+#fig[-:][\w:.-]{1,200}+(?=[\s}])")
"""A figure of Quarto, with its caption in the brackets: ``![A barn](a.png){#fig-barn}``."""
IMG = re.compile(r"<img(?=[\s/>])", re.IGNORECASE)
DRAWING = re.compile(r"<(?:[\w-]{1,20}+:)?(docPr|shape|rect|roundrect|oval)(?=[\s/>])")
NAME = re.compile(r"[\s/]*+([^\s/>=<\"'`{}]++)(\s*+=\s*+)?")
BARE = re.compile(r"[^\s>\"'`<]*+")
ESCAPED = re.compile(r"[\\`*_\[\]<>~|{}$]|&(?=#?\w{1,31};)")
"""Characters that Markdown, or a site generator, could take for markup."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A place for an alternative text.

    Attributes:
        start: Beginning of the range to replace, in characters of the text.
        end: End of the range.
        markup: How text is escaped there.
        quote: For an HTML tag without a role, the quotes around the text; "" for all other markup.
    """

    start: int
    end: int
    markup: Markup
    before: str = ""
    after: str = ""
    quote: str = ""

    def filled(self, text: str) -> str:
        """The replacement with this text; an empty text marks the picture of an HTML tag as decoration."""
        if not text and self.quote:
            empty = self.before + (self.after or self.quote)  # the role follows ``alt``, in the same quotes
            return f"{empty} role={self.quote}presentation{self.after and self.quote}"
        return self.before + escaped(text, self.markup) + self.after


def escaped(text: str, markup: Markup) -> str:
    """The text, escaped so that it reads back unchanged; in plain text quotes and brackets cannot be escaped."""
    match markup:
        case "attribute":  # braces too, since site generators read them before HTML is parsed
            return escape(text).replace("{", "&#123;").replace("}", "&#125;")
        case "markdown":
            return ESCAPED.sub(r"\\\g<0>", text)
        case "shortcode":
            return text.replace('"', '\\"')
        case "plain":
            return text


def find_gaps(text: str, format_: str, *, over: bool = False) -> list[Gap]:
    """The gaps of a text without alternative text, in order.

    Args:
        text: A Markdown file, an HTML file, a chapter of an EPUB or a part of a DOCX.
        format_: markdown, html, epub or docx.
        over: Also return places with an alternative text, to replace it.
    """
    if format_ == "docx":
        return [replace(gap, quote="") for gap in _tags(text, DRAWING, over)]
    found = list(_tags(text, IMG, over))
    if format_ == "markdown":
        found += [Gap(*match.span(1), "markdown") for match in (FILLED if over else MARKDOWN).finditer(text)]
        found += [Gap(*match.span(1), "plain", before="|") for match in WIKI.finditer(text)]
        found += [Gap(m.end(), m.end(), "plain", ' fig-alt="', '"') for m in FIGURE.finditer(text)]
        found += [replace(gap, markup="shortcode", quote="") for gap in _tags(text, SHORTCODE, over)]
    return sorted(found, key=lambda gap: gap.start)


def _tags(text: str, opening: re.Pattern[str], over: bool) -> Iterator[Gap]:
    """Gaps in tags without alternative text (with ``over``, also others); the pattern matches how tags begin."""
    at = 0
    while (begin := opening.search(text, at)) is not None:
        name = "descr" if begin.groups() and begin[1] == "docPr" else "alt"
        gap, at = _tag(text, begin.end(), name, over)
        if gap is not None:
            yield gap


def _tag(text: str, begin: int, name: str, over: bool) -> tuple[Gap | None, int]:
    """The gap in a tag whose name ends at ``begin``, and where to continue."""
    found: Gap | None = Gap(begin, begin, "attribute", f' {name}="', '"')
    named, has_role, at = False, False, begin
    while (attribute := NAME.match(text, at)) is not None:
        at = attribute.end()
        value = _value(text, at) if attribute[2] else (at, at)
        if value is None:
            return None, begin  # an unclosed quote: not a tag
        has_role |= attribute[1].lower() == "role"
        if attribute[1].lower() == name and not named:
            named = True
            found = _named(text, attribute, value, over)
        at = value[1] + (attribute[2] is not None and text[value[1] : value[1] + 1] in ('"', "'"))
    if found is not None and not has_role:
        found = replace(found, quote=found.after or text[found.start - 1])
    return found, max(at, begin)


def _named(text: str, attribute: re.Match[str], value: tuple[int, int], over: bool) -> Gap | None:
    """The gap in a tag with an empty alternative text; None if it has a text that is to stay."""
    start, end = value
    if not over and WRITTEN_BY_WORD.sub("", unescape(text[start:end])).strip():
        return None
    quoted = attribute[2] is not None and text[start - 1 : start] in ('"', "'")
    if quoted:
        return Gap(start, end, "attribute")
    return Gap(attribute.end(1), end, "attribute", '="', '"')


def _value(text: str, at: int) -> tuple[int, int] | None:
    """The range of an attribute's value without quotes; None if its quote is not closed."""
    if text[at : at + 1] in ('"', "'"):
        close = text.find(text[at], at + 1)
        return None if close < 0 else (at + 1, close)
    bare = BARE.match(text, at)
    return (at, at) if bare is None else bare.span()
