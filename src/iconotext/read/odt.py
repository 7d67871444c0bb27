"""ODT → blocks: the text of a LibreOffice file in reading order, with its pictures, captions and cross-references."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from iconotext.errors import DocumentError
from iconotext.read.archive import Archive, Element, open_archive
from iconotext.read.blocks import Block, BlockWriter, Flow, FlowImage, drop_repeated_title, join_row
from iconotext.read.captions import separate_caption
from iconotext.read.office import (
    CAPTION_STYLE,
    METAFILE,
    MISSING,
    TABLE_LABEL,
    attribute,
    child,
    local,
    member_image,
    title_of,
)
from iconotext.read.settings import ReadSettings
from iconotext.types import Kind

SKIPPED = frozenset(
    "table-of-content illustration-index table-index alphabetical-index bibliography user-index object-index "
    "tracked-changes forms annotation annotation-end sequence-decls variable-decls user-field-decls page-number "
    "page-count ruby-text note-citation custom-shape".split()
)
"""Elements that are no running text."""
ANCHORS = frozenset(("bookmark", "bookmark-start", "reference-mark", "reference-mark-start", "sequence"))
LEVELS = tuple("123456789")
QUOTES = frozenset(("Quotations", "Quote"))
TITLES = {"Title": 1, "Subtitle": 2}


def read_odt(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a text of LibreOffice (.odt), as one flow.

    Contents lists, comments, deletions and drawn shapes are left out.
    """
    with open_archive(path, settings.max_bytes) as archive:
        member = archive.find("content.xml")
        manifest = archive.find("META-INF/manifest.xml")
        if manifest is not None and any(local(e) == "encryption-data" for e in archive.xml(manifest).iter()):
            raise DocumentError("it has a password: save it without one")
        root = archive.xml(member) if member is not None else None
        body = child(root, "body", "text")
        if root is None or body is None:
            raise DocumentError("not a text of LibreOffice: there is no text in its content.xml")
        walk = _Walk(archive, _styles(root))
        walk.container(body, "paragraph")
        title = title_of(archive, "meta.xml", "meta")
    return [Flow(drop_repeated_title([*walk.writer.blocks, *walk.notes]), title)]


def _styles(root: Element) -> dict[str, tuple[str, bool]]:
    """Return, for each automatic style, the style that it is based on, and whether it is in italics."""
    parents = {}
    styles = child(root, "automatic-styles")
    for style in styles if styles is not None else ():
        italic = attribute(child(style, "text-properties"), "font-style") == "italic"
        parents[attribute(style, "name") or ""] = (attribute(style, "parent-style-name") or "", italic)
    return parents


class _Walk:
    def __init__(self, archive: Archive, styles: dict[str, tuple[str, bool]]) -> None:
        self.archive = archive
        self.styles = styles
        self.writer = BlockWriter()
        self.notes: list[Block] = []  # of footnotes, which come at the end
        self.pending: list[str] = []  # identifiers of the open paragraph
        self.boxes: list[Block] = []  # of text boxes in the open paragraph, which come after it

    def container(self, element: Element, kind: Kind) -> None:
        for part in element:
            match local(part):
                case "p" | "h":
                    self.paragraph(part, kind)
                case "list":
                    self.container(part, "item" if kind == "paragraph" else kind)
                case "table-row":
                    first = len(self.writer.blocks)
                    self.container(part, kind)
                    self.writer.blocks[first:] = join_row(self.writer.blocks[first:])
                case "table-cell":
                    self.container(part, "cell")
                case "frame":
                    self.frame(part)
                    self.writer.close()
                case name if name and name not in SKIPPED and name != "covered-table-cell":
                    self.container(part, kind)

    def paragraph(self, element: Element, kind: Kind) -> None:
        style, italic = self.style(element)
        level = None
        if local(element) == "h" or style in TITLES:
            declared = attribute(element, "outline-level") or ""
            kind, level = "heading", TITLES.get(style) or (min(int(declared), 6) if declared in LEVELS else 1)
        elif CAPTION_STYLE.search(style.lower()) and not TABLE_LABEL.match(style):
            kind = "caption"
        elif style in QUOTES:
            kind = "quote"
        outer, self.boxes, self.pending = self.boxes, [], []
        first = len(self.writer.blocks)
        self.inline(element, italic=italic)
        self.writer.close(kind, level)
        blocks = self.writer.blocks[first:]
        anchors = tuple(dict.fromkeys(self.pending))
        for block in blocks:
            block.anchors = anchors
            block.kind = "paragraph" if block.kind == "caption" and not block.text else block.kind
            block.images = [
                (offset, replace(image, anchors=(*image.anchors, *anchors))) for offset, image in block.images
            ]
        self.writer.blocks[first:] = [part for block in blocks for part in separate_caption(block)] + self.boxes
        self.boxes, self.pending = outer, []

    def style(self, element: Element) -> tuple[str, bool]:
        """Return the name of an element's style (for an automatic one, its parent's), and whether it is in italics."""
        name = attribute(element, "style-name") or ""
        parent, italic = self.styles.get(name, (name, False))
        return parent.replace("_20_", " "), italic or parent == "Emphasis"

    def inline(self, element: Element, *, italic: bool) -> None:
        """Read the text of a paragraph, or of an element in it."""
        self.writer.text(element.text or "", emphasised=italic)
        for part in element:
            self.inline_part(part, italic=italic)
            self.writer.text(part.tail or "", emphasised=italic)

    def inline_part(self, part: Element, *, italic: bool) -> None:
        name = local(part)
        if name in ANCHORS:
            self.pending.append(attribute(part, "ref-name") or attribute(part, "name") or "")
        match name:
            case "s" | "tab" | "line-break":
                self.writer.text(" ")
            case "frame":
                self.frame(part)
            case "note":
                body = child(part, "note-body")
                self.notes += self.blocks_of(body, "item") if body is not None else []
            case "a":
                href = attribute(part, "href") or ""
                self.link(part, href[1:] if href.startswith("#") else attribute(part, "ref-name"), italic=italic)
            case "sequence-ref" | "bookmark-ref" | "reference-ref":
                self.link(part, attribute(part, "ref-name"), italic=italic)
            case "span":
                self.inline(part, italic=italic or self.style(part)[1])
            case _ if name and name not in SKIPPED:
                self.inline(part, italic=italic)

    def link(self, element: Element, target: str | None, *, italic: bool) -> None:
        start = self.writer.offset
        self.inline(element, italic=italic)
        if target:
            self.writer.target(start, target.partition("|")[0])  # LibreOffice appends the kind: "Figure 1|graphic"

    def blocks_of(self, element: Element, kind: Kind) -> list[Block]:
        """Read a footnote or a text box apart from the text around it."""
        outer = self.writer, self.pending, self.boxes
        self.writer, self.pending, self.boxes = BlockWriter(), [], []
        self.container(element, kind)
        blocks = self.writer.blocks
        self.writer, self.pending, self.boxes = outer
        return blocks

    def frame(self, element: Element) -> None:
        """Read a picture, or a box with text, such as a picture and its caption."""
        box = child(element, "text-box")
        if box is not None:
            self.boxes += self.blocks_of(box, "paragraph")
            return
        images = [part for part in element if local(part) == "image"]
        if images and child(element, "object") is None:  # else it is the preview of a chart or formula
            described = [child(element, name) for name in ("desc", "title")]
            alt = next((text for e in described if e is not None and (text := " ".join((e.text or "").split()))), None)
            addresses = [attribute(image, "href") or "" for image in images]  # the same picture in several formats
            address = next((address for address in addresses if not METAFILE.search(address)), addresses[0])
            self.writer.image(self.image(address, alt))

    def image(self, address: str, alt: str | None) -> FlowImage:
        picture = member_image(address or "picture", self.archive)
        if picture.problem == MISSING and (":" in address or address.startswith("../")):
            return FlowImage((address.removeprefix("../"),), alt)  # ``../`` leads out of the zip file, to its folder
        return replace(picture, alt=alt)
