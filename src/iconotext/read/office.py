"""The parts of Office files: relations, the properties of a file, styles and drawings.

Elements are found by local names, since the "strict" variant of the formats has other namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.archive import Archive, Element, resolve
from iconotext.read.blocks import FlowImage
from iconotext.read.sentences import language_code
from iconotext.types import Kind

OFF = frozenset(("0", "false", "off", "none"))
WRAPPERS = frozenset(
    ["ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "dir", "bdo", "hyperlink", "fldSimple"]
)
"""Elements around paragraphs or runs; their content is read as if they were absent."""


def local(element: Element) -> str:
    """Return the name of an element without its namespace; "" if it is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element | None, name: str) -> str | None:
    """Return the first attribute with this name, regardless of its namespace; None without it, or an element."""
    items = element.items() if element is not None else ()
    return next((value for key, value in items if key.rpartition("}")[2] == name), None)


def child(element: Element | None, *names: str) -> Element | None:
    """Return the element at a path of local names; None if there is none."""
    for name in names:
        element = next((e for e in element if local(e) == name), None) if element is not None else None
    return element


def value(element: Element | None, *names: str) -> str | None:
    """Return the attribute ``val`` of the element at a path; None if one of the two is missing."""
    return attribute(child(element, *names), "val")


def is_on(properties: Element | None, name: str) -> bool | None:
    """Return whether a switch such as ``<w:i/>`` is on, off, or (None) missing."""
    switch = child(properties, name)
    return None if switch is None else (attribute(switch, "val") or "1").lower() not in OFF


def children(element: Element, name: str) -> list[Element]:
    """Return the rows of a table or the cells of a row, including those in content controls or revisions."""
    parts = []
    for part in element:
        if local(part) == name:
            parts.append(part)
        elif local(part) in WRAPPERS:
            parts += children(part, name)
    return parts


def alternative(element: Element) -> list[Element]:
    """Return the content of ``mc:AlternateContent`` to read: its first choice, else the fallback."""
    return next((list(part) for part in element if local(part) in ("Choice", "Fallback") and len(part)), [])


# The first bytes of an OLE container, in which the old formats are, and encrypted files of the new ones.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def refuse_ole(path: Path, kind: str) -> None:
    """Raise ``DocumentError`` for a file of the old format or one with a password; the message says what to do."""
    with path.open("rb") as file:
        if file.read(8) == OLE:
            raise DocumentError(
                f"{path}: a .{kind[:-1]} file or one with a password: save it as .{kind} without a password"
            )


Relations = dict[str, tuple[str, str]]  # identifier of a relation to its kind and target, see ``relations_of``
Part = tuple[Archive, Relations]  # a file, and the relations of the part of it that is read


def relations_of(archive: Archive, part: str) -> Relations:
    """Return the relations of a part: id to (last word of the type, target; ``:`` before one outside the file)."""
    folder, _, name = part.rpartition("/")
    member = archive.find(f"{folder}/_rels/{name}.rels")
    relations: Relations = {}
    for relation in archive.xml(member) if member else ():
        target = relation.get("Target") or ""
        outside = (relation.get("TargetMode") or "").lower() == "external"
        kind = (relation.get("Type") or "").rpartition("/")[2]
        relations[relation.get("Id") or ""] = (kind, ":" + target if outside else resolve(part, target))
    return relations


def title_of(archive: Archive, part: str = "docProps/core.xml", *above: str) -> str | None:
    """Return the title in the properties of an Office file, below the elements ``above``; None without one."""
    member = archive.find(part)
    if member is None:
        return None
    try:
        title = child(archive.xml(member), *above, "title")
    except HostileDocumentError:
        raise
    except DocumentError:
        return None  # broken metadata is no reason to reject the text
    text = " ".join((title.text or "").split()) if title is not None else ""
    return text or None


# Patterns of the names of styles, in lower case.
HEADING = re.compile(r"^(?:heading \d|title|subtitle)$")
CAPTION_STYLE = re.compile(
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
OUTLINE = tuple("012345678")  # outline levels of headings; 9 is body text
MAX_BASES = 100  # maximum length of a chain of styles based on each other; Word itself writes at most eleven


@dataclass(frozen=True, slots=True)
class Style:
    """The properties of a paragraph or character style; those that it does not set are None."""

    kind: Kind | None = None
    level: int | None = None  # of a heading, 1 to 6
    italic: bool | None = None
    left_out: bool = False
    based_on: str | None = None


def read_styles(archive: Archive, relations: Relations) -> tuple[dict[str, Style], str | None]:
    """Return the styles by their ids ("" for the default of paragraphs), and the language of the file."""
    part = next((archive.find(target) for kind, target in relations.values() if kind == "styles"), None)
    if part is None:
        return {"": Style()}, None
    root = archive.xml(part)
    elements = {attribute(e, "styleId") or "": e for e in root if local(e) == "style"}
    direct = {identifier: _own_style(identifier, element) for identifier, element in elements.items()}
    styles = {identifier: _inherited(identifier, direct) for identifier in direct}
    paragraphs = (i for i, e in elements.items() if attribute(e, "type") == "paragraph")
    default = next((i for i in paragraphs if attribute(elements[i], "default") in ("1", "true")), "")
    styles[""] = styles.get(default, Style())
    language = language_code(value(root, "docDefaults", "rPrDefault", "rPr", "lang") or "")
    # Every template says English, whatever the text is; then the language is detected instead.
    return styles, None if language == "en" else language


def _own_style(identifier: str, element: Element) -> Style:
    name = (value(element, "name") or identifier).lower()
    properties = child(element, "pPr")
    return Style(
        kind=_kind_of_name(name) or kind_of_properties(properties),
        level=_level_of_name(name) or level_of_properties(properties),
        italic=is_on(child(element, "rPr"), "i"),
        left_out=bool(CODE.match(name) or CONTENTS.match(name)),
        based_on=value(element, "basedOn"),
    )


def _inherited(identifier: str, direct: dict[str, Style]) -> Style:
    """Return a style's properties including inherited ones; the nearest one counts."""
    chain: dict[str, Style] = {}
    key: str | None = identifier
    while key in direct and key not in chain:
        if len(chain) > MAX_BASES:
            raise HostileDocumentError(f"a style in it is based on more than {MAX_BASES} others: no document does that")
        chain[key] = direct[key]
        key = direct[key].based_on
    styles = chain.values()
    return Style(
        kind=next((style.kind for style in styles if style.kind), None),
        level=next((style.level for style in styles if style.level), None),
        italic=next((style.italic for style in styles if style.italic is not None), False),
        left_out=any(style.left_out for style in styles),
    )


def _kind_of_name(name: str) -> Kind | None:
    if HEADING.match(name):
        return "heading"
    if CAPTION_STYLE.search(name) and name != "captioned figure":  # which is pandoc's style of the picture itself
        return "paragraph" if TABLE_LABEL.search(name) else "caption"
    if QUOTE.match(name):
        return "quote"
    return "item" if ITEM.match(name) else None


def _level_of_name(name: str) -> int | None:
    if not HEADING.match(name):
        return None
    return {"title": 1, "subtitle": 2}.get(name) or min(max(int(name[-1]), 1), 6)


def level_of_properties(properties: Element | None) -> int | None:
    """Return the level, 1 to 6, of a heading that has an outline level; None without one."""
    level = value(properties, "outlineLvl")
    return min(int(level) + 1, 6) if level is not None and level in OUTLINE else None


def kind_of_properties(properties: Element | None) -> Kind | None:
    """Return the kind of a paragraph or style by its outline level (a heading) or numbering (an item)."""
    if level_of_properties(properties) is not None:
        return "heading"
    numbering = child(properties, "numPr", "numId")
    return "item" if numbering is not None and attribute(numbering, "val") != "0" else None


METAFILE = re.compile(r"\.(?:emf|wmf|emz|wmz)$", re.IGNORECASE)
MISSING = "the file names it and does not hold it"
WRITTEN_BY_WORD = re.compile(
    r"(?:Description automatically generated|AI-generated content may be incorrect)\.?", re.IGNORECASE
)


def drawn(
    element: Element, part: Part, alt: str | None = None, title: str | None = None, *, decorative: bool = False
) -> Iterator[FlowImage | Element]:
    """Yield the pictures and text boxes of a drawing, in order; the drawing's alt text is used for each picture."""
    match local(element):
        case "txbxContent":
            yield element
            return
        case "pic":
            blip = child(element, "blipFill", "blip")
            if blip is not None:
                alt = _own_alt(element) if alt is None else alt
                yield replace(blip_image(blip, part), alt=alt, title=title, decorative=decorative)
            return
        case "imagedata":  # of VML, the older language of drawings
            image = related_image(attribute(element, "id") or attribute(element, "href"), part)
            yield replace(image, alt=alt, title=attribute(element, "title"))
            return
        case "inline" | "anchor":
            properties = child(element, "docPr")
            if is_hidden(properties):
                return
            alt, title = alternative_text(properties) or alt, drawing_title(properties) or title
            inner_parts = properties.iter() if properties is not None else ()
            switches = [attribute(mark, "val") or "1" for mark in inner_parts if local(mark) == "decorative"]
            decorative = any(switch.lower() not in OFF for switch in switches)
        case "shape" | "rect" | "roundrect" | "oval":  # VML
            alt = attribute(element, "alt") or alt
    for inner in alternative(element) if local(element) == "AlternateContent" else element:
        yield from drawn(inner, part, alt, title, decorative=decorative)


def blip_image(blip: Element, part: Part) -> FlowImage:
    """Return the image that a ``blip`` names, which is in the file or linked."""
    return related_image(attribute(blip, "embed") or attribute(blip, "link"), part)


def related_image(relation: str | None, part: Part) -> FlowImage:
    """Return the image of a relation, with its bytes or its problem."""
    archive, relations = part
    _, target = relations.get(relation or "", ("", None))
    if target is None:
        return FlowImage((relation or "picture",), problem=MISSING)
    return FlowImage((target[1:],)) if target.startswith(":") else member_image(target, archive)


def is_hidden(properties: Element | None) -> bool:
    """Return whether the properties of a drawing hide it."""
    return (attribute(properties, "hidden") or "0").lower() not in OFF


def member_image(address: str, archive: Archive) -> FlowImage:
    """Return the image at an address in the archive, with its bytes or its problem."""
    if METAFILE.search(address):
        problem = "a Windows metafile (EMF, WMF), which is not read: put it in as PNG or SVG"
        return FlowImage((address,), problem=problem)
    member = archive.find(address)
    if member is None:
        return FlowImage((address,), problem=MISSING)
    try:
        return FlowImage((member,), file=archive.read(member))
    except HostileDocumentError:
        raise
    except DocumentError as error:
        return FlowImage((member,), problem=str(error))


def _own_alt(element: Element) -> str | None:
    """Return the alt text of an image in a group; single words are ignored, since pandoc puts the file's name there."""
    text = alternative_text(child(element, "nvPicPr", "cNvPr"))
    return text if text and " " in text else None


def alternative_text(properties: Element | None) -> str | None:
    """Return the alternative text in a drawing's properties, without texts that were generated by a program."""
    return " ".join(WRITTEN_BY_WORD.sub("", attribute(properties, "descr") or "").split()) or None


def drawing_title(properties: Element | None) -> str | None:
    """Return the title in the properties of a drawing, which is not its alternative text."""
    return " ".join((attribute(properties, "title") or "").split()) or None
