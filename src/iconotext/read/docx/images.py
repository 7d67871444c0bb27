"""Pictures in a Word file: what a drawing holds, whatever groups are around it, and where the bytes are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.archive import Archive, Element
from iconotext.read.blocks import FlowImage
from iconotext.read.docx.xml import OFF, alternative, attribute, child, local

METAFILE = re.compile(r"\.(?:emf|wmf|emz|wmz)$", re.IGNORECASE)
MISSING = "the file names it and does not hold it"
WRITTEN_BY_WORD = re.compile(
    r"(?:Description automatically generated|AI-generated content may be incorrect)\.?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """An image of a drawing, by the relation that leads to it, or a text box; whether Word calls it decorative."""

    relation: str | None = None
    alt: str | None = None
    title: str | None = None
    box: Element | None = None
    decorative: bool = False


def drawn(
    element: Element, alt: str | None = None, title: str | None = None, *, decorative: bool = False
) -> Iterator[Drawn]:
    """Pictures and text boxes of a drawing in their order; the alt text of the whole drawing counts for each."""
    match local(element):
        case "txbxContent":
            yield Drawn(box=element)
            return
        case "pic":
            blip = child(element, "blipFill", "blip")
            if blip is not None:
                relation = attribute(blip, "embed") or attribute(blip, "link")
                yield Drawn(relation, _own_alt(element) if alt is None else alt, title, decorative=decorative)
            return
        case "imagedata":  # VML
            yield Drawn(attribute(element, "id") or attribute(element, "href"), alt, attribute(element, "title"))
            return
        case "inline" | "anchor":
            properties = child(element, "docPr")
            if properties is not None and (attribute(properties, "hidden") or "0").lower() not in OFF:
                return
            alt, title = alternative_text(properties) or alt, drawing_title(properties) or title
            decorative = properties is not None and _is_decorative(properties)
        case "shape" | "rect" | "roundrect" | "oval":  # VML
            alt = attribute(element, "alt") or alt
    for part in alternative(element) if local(element) == "AlternateContent" else element:
        yield from drawn(part, alt, title, decorative=decorative)


def image_of(found: Drawn, relations: dict[str, str], archive: Archive) -> FlowImage:
    """The image with its bytes, or with what is wrong with it, and with what the document says of it.

    Args:
        relations: From the id of a relation to a member of the archive; ``:`` before an address outside it.

    Raises:
        HostileDocumentError: The image unpacks to more than is allowed.
    """
    image = _named(found.relation, relations, archive)
    return replace(image, alt=found.alt, title=found.title, decorative=found.decorative)


def _named(relation: str | None, relations: dict[str, str], archive: Archive) -> FlowImage:
    target = relations.get(relation or "")
    if target is None:
        return FlowImage((relation or "picture",), problem=MISSING)
    return FlowImage((target[1:],)) if target.startswith(":") else member_image(target, archive)


def member_image(address: str, archive: Archive) -> FlowImage:
    """The image at an address within the archive, with its bytes or with what is wrong with it; errors as above."""
    if METAFILE.search(address):
        problem = "a Windows metafile (EMF, WMF): which is not read: put it in as PNG or SVG"
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


def _is_decorative(properties: Element) -> bool:
    marks = (mark for mark in properties.iter() if local(mark) == "decorative")
    return any((attribute(mark, "val") or "1").lower() not in OFF for mark in marks)


def _own_alt(element: Element) -> str | None:
    """The alt text of an image in a group; a single word is no text, since pandoc puts the file's name there."""
    own = alternative_text(child(element, "nvPicPr", "cNvPr"))
    return own if own and " " in own else None


def alternative_text(properties: Element | None) -> str | None:
    """The alternative text in the properties of a drawing, without what the program wrote that made it."""
    if properties is None:
        return None
    return " ".join(WRITTEN_BY_WORD.sub("", attribute(properties, "descr") or "").split()) or None


def drawing_title(properties: Element | None) -> str | None:
    """The title in the properties of a drawing, which is not its alternative text."""
    return None if properties is None else " ".join((attribute(properties, "title") or "").split()) or None
