"""Styles of a Word file: which are headings, captions, quotations or items, and which are left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from iconotext.errors import HostileDocumentError
from iconotext.read.archive import Archive, Element
from iconotext.read.docx.xml import attribute, child, is_on, local
from iconotext.read.sentences import language_code
from iconotext.types import Kind

HEADING = re.compile(r"^(?:heading \d|title|subtitle)$")
CAPTION = re.compile(
    r"caption|^(?:figure|illustration|drawing|image|abbildung|beschriftung|légende|leyenda|legenda|didascalia|bijschrift"
    r"|billedtekst|bildtext|bildunterschrift)$"
)
TABLE_LABEL = re.compile(r"tab|list|equation|gleichung|formel|quadro", re.IGNORECASE)
QUOTE = re.compile(r"^(?:intense quote|quote|quotations?|block ?text|block ?quote|zitat|citation)$")
ITEM = re.compile(r"^(?:list\b|definition|compact list)")
CODE = re.compile(r"^(?:source ?code|html preformatted|preformatted text|macro text|macro)$")
CONTENTS = re.compile(
    r"^(?:toc \d|toc heading|table of figures|table of authorities|contents \d|contents heading|index \d)$"
)
OUTLINE = tuple("012345678")
"""Outline levels of headings; 9 is body text."""
MAX_BASES = 100
"""Maximum length of a chain of styles based on each other; Word itself writes at most eleven."""


@dataclass(frozen=True, slots=True)
class Style:
    """The properties of a paragraph or character style, including inherited ones."""

    kind: Kind | None = None
    italic: bool = False
    left_out: bool = False
    level: int | None = None  # of a heading, 1 to 6


@dataclass(frozen=True, slots=True)
class _Own:
    """The properties that a style sets itself; None if inherited."""

    kind: Kind | None
    level: int | None
    italic: bool | None
    left_out: bool
    based_on: str | None


def read_styles(archive: Archive, relations: dict[str, tuple[str, str]]) -> tuple[dict[str, Style], str | None]:
    """Style id to style ("" for the default of paragraphs), and the language of the file.

    Raises:
        HostileDocumentError: A style is based on more than ``MAX_BASES`` others.
    """
    part = next((archive.find(target) for kind, target in relations.values() if kind == "styles"), None)
    if part is None:
        return {"": Style()}, None
    root = archive.xml(part)
    elements = {attribute(e, "styleId") or "": e for e in root if local(e) == "style"}
    own = {identifier: _own(identifier, element) for identifier, element in elements.items()}
    styles = {identifier: _style(identifier, own) for identifier in own}
    default = next(
        (
            i
            for i, e in elements.items()
            if attribute(e, "type") == "paragraph" and attribute(e, "default") in ("1", "true")
        ),
        None,
    )
    styles[""] = styles.get(default or "", Style())
    declared = child(root, "docDefaults", "rPrDefault", "rPr", "lang")
    language = language_code(attribute(declared, "val") or "") if declared is not None else None
    # Every template says English, whatever the text is; then the language is detected instead.
    return styles, None if language == "en" else language


def _own(identifier: str, element: Element) -> _Own:
    named, based = child(element, "name"), child(element, "basedOn")
    name = ((attribute(named, "val") if named is not None else None) or identifier).lower()
    properties = child(element, "pPr")
    return _Own(
        kind=_kind_of_name(name) or kind_of_properties(properties),
        level=_level_of_name(name) or level_of_properties(properties),
        italic=is_on(child(element, "rPr"), "i"),
        left_out=bool(CODE.match(name) or CONTENTS.match(name)),
        based_on=attribute(based, "val") if based is not None else None,
    )


def _style(identifier: str, own: dict[str, _Own]) -> Style:
    """A style's properties including inherited ones; the nearest one counts."""
    chain: dict[str, _Own] = {}
    key: str | None = identifier
    while key in own and key not in chain:
        if len(chain) > MAX_BASES:
            raise HostileDocumentError(f"a style in it is based on more than {MAX_BASES} others: no document does that")
        chain[key] = own[key]
        key = own[key].based_on
    said = chain.values()
    return Style(
        kind=next((style.kind for style in said if style.kind), None),
        italic=next((style.italic for style in said if style.italic is not None), False),
        left_out=any(style.left_out for style in said),
        level=next((style.level for style in said if style.level), None),
    )


def _kind_of_name(name: str) -> Kind | None:
    if HEADING.match(name):
        return "heading"
    if CAPTION.search(name) and name != "captioned figure":
        return "paragraph" if TABLE_LABEL.search(name) else "caption"
    if QUOTE.match(name):
        return "quote"
    return "item" if ITEM.match(name) else None


def _level_of_name(name: str) -> int | None:
    if not HEADING.match(name):
        return None
    return {"title": 1, "subtitle": 2}.get(name) or min(max(int(name[-1]), 1), 6)


def level_of_properties(properties: Element | None) -> int | None:
    """The level, 1 to 6, of a heading that has an outline level; None without one."""
    level = child(properties, "outlineLvl")
    value = attribute(level, "val") or "" if level is not None else ""
    return min(int(value) + 1, 6) if value in OUTLINE else None


def kind_of_properties(properties: Element | None) -> Kind | None:
    """The kind of a paragraph or style by its outline level (a heading) or numbering (an item)."""
    if properties is None:
        return None
    if level_of_properties(properties) is not None:
        return "heading"
    numbering = child(properties, "numPr", "numId")
    return "item" if numbering is not None and attribute(numbering, "val") != "0" else None
