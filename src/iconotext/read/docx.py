"""Word files (.docx) → blocks: paragraphs, tables, drawings and captions, and the fields in them.

A field is an instruction, such as ``REF`` (a cross-reference) or ``SEQ`` (a running number), with its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.archive import Archive, Element, open_archive, resolve
from iconotext.read.blocks import Block, BlockWriter, Flow, FlowImage, drop_repeated_title, join_row
from iconotext.read.captions import CAPTION_LABEL, separate_caption
from iconotext.read.office import (
    TABLE_LABEL,
    WRAPPERS,
    Relations,
    Style,
    alternative,
    attribute,
    child,
    children,
    drawn,
    is_on,
    kind_of_properties,
    level_of_properties,
    local,
    read_styles,
    refuse_ole,
    relations_of,
    title_of,
    value,
)
from iconotext.read.settings import ReadSettings
from iconotext.types import Kind

REFERENCE = re.compile(r"^\s*+(?:PAGE)?REF\s++\"?([^\s\"\\]++)", re.IGNORECASE)
LOCAL_LINK = re.compile(r"^\s*+HYPERLINK\s.*?\\l\s++\"([^\"]++)\"", re.IGNORECASE | re.DOTALL)
SEQUENCE = re.compile(r"^\s*+SEQ\s++\"?([^\s\"\\]++)", re.IGNORECASE)
MAX_OPEN_FIELDS = 100  # maximum depth of nested fields; Word itself allows twenty
MAX_INSTRUCTION = 10_000
"""Maximum number of characters of a field's instruction that are stored; the longest have an address of some 2,000."""


@dataclass(slots=True)
class OpenField:
    """A field that has not ended yet."""

    instruction: str
    in_result: bool
    start: int  # beginning of the result in the open block

    @property
    def target(self) -> str | None:
        """The bookmark that the result refers to; None if there is none."""
        match = REFERENCE.match(self.instruction) or LOCAL_LINK.match(self.instruction)
        return match[1] if match and self.in_result else None

    @property
    def sequence(self) -> str | None:
        """The sequence of a numbering field: "Figure", "Table"; None for other fields."""
        match = SEQUENCE.match(self.instruction)
        return match[1] if match else None


MAX_ANCHORS = 1_000  # maximum number of bookmarks of a paragraph


@dataclass(slots=True)
class OpenParagraph:
    """The state of a paragraph while its runs are read."""

    style: Style
    anchors: list[str] = field(default_factory=list)  # names of bookmarks
    sequence: str | None = None  # the sequence of its SEQ field: "Figure", "Table"
    boxes: list[tuple[int, Element]] = field(default_factory=list)  # (offset, content of a text box)
    breaks: int = 0  # line breaks in a row


class _Walk:
    def __init__(self, archive: Archive, relations: Relations, styles: dict[str, Style]) -> None:
        self.archive = archive
        self.relations = relations
        self.styles = styles
        self.writer = BlockWriter()
        self.pending: list[str] = []  # bookmarks between paragraphs, which belong to the next one
        self.fields: list[OpenField] = []  # innermost last; they may go on over several paragraphs
        self.paragraph = OpenParagraph(Style())

    def container(self, element: Iterable[Element], kind: Kind) -> None:
        """Read a body, a table cell or a text box: paragraphs, tables, and the elements around them."""
        for part in element:
            match local(part):
                case "p":
                    self.read_paragraph(part, kind)
                case "tbl":
                    self.table(part, kind)
                case "bookmarkStart":
                    self.pending.append(attribute(part, "name") or "")
                case "AlternateContent":
                    self.container(alternative(part), kind)
                case name if name in WRAPPERS and not _is_contents_list(part):
                    self.container(part, kind)

    def table(self, element: Element, kind: Kind) -> None:
        rows = [row for row in children(element, "tr") if child(row, "trPr", "del") is None]  # no deleted ones
        cells = [children(row, "tc") for row in rows]
        kind = kind if sum(map(len, cells)) == 1 else "cell"  # a single cell is a frame around text
        for row in cells:
            first = len(self.writer.blocks)
            for cell in row:
                merge = child(cell, "tcPr", "vMerge")
                if merge is None or attribute(merge, "val") == "restart":  # vertically merged cells are read once
                    self.container(cell, kind)
            self.writer.blocks[first:] = join_row(self.writer.blocks[first:])

    def read_paragraph(self, element: Element, kind: Kind) -> None:
        properties = child(element, "pPr")
        style = self.styles.get(value(properties, "pStyle") or "", self.styles[""])
        if style.left_out:
            return
        if style.kind is None or style.kind == "item":
            level = level_of_properties(properties)
            style = replace(style, kind=kind_of_properties(properties) or style.kind, level=level)
        outer, self.paragraph = self.paragraph, OpenParagraph(style, anchors=self.pending)
        self.pending = []
        first = len(self.writer.blocks)
        self.runs(element, italic=bool(style.italic))
        self.close(kind, style)
        self.finish(first, kind)
        self.paragraph = outer

    def close(self, kind: Kind, style: Style) -> None:
        """End the open block; its kind is that of a running number in it, else of its style, else ``kind``."""
        for open_field in self.fields:
            self.apply(open_field)
            open_field.start = 0  # it goes on in the next block
        sequence = self.paragraph.sequence
        if sequence is not None:
            kind = "paragraph" if TABLE_LABEL.match(sequence) else "caption"
        elif style.kind is not None and style.kind != "paragraph":
            kind = style.kind
        self.writer.close(kind, style.level)

    def finish(self, first: int, kind: Kind) -> None:
        """Complete the blocks of a paragraph, those from ``first``: bookmarks, captions, text boxes beside them."""
        paragraph, blocks = self.paragraph, self.writer.blocks[first:]
        anchors = [name for name in dict.fromkeys(paragraph.anchors) if name and name != "_GoBack"]
        if len(anchors) > MAX_ANCHORS:
            raise HostileDocumentError(f"more than {MAX_ANCHORS:,} bookmarks on one paragraph: no document has that")
        if anchors and not blocks:
            self.pending = anchors + self.pending  # an empty paragraph between a bookmark and its image
        for block in blocks if anchors else ():
            block.anchors = tuple(anchors)
            block.images = [(o, replace(p, anchors=p.anchors + block.anchors)) for o, p in block.images]
        blocks = [part for block in blocks for part in separate_caption(block)]
        before = [block for offset, box in paragraph.boxes if offset == 0 for block in self.blocks_of(box, kind)]
        after = [block for offset, box in paragraph.boxes if offset > 0 for block in self.blocks_of(box, kind)]
        captioned = any(block.kind == "caption" or CAPTION_LABEL.match(block.text) for block in (*before, *after))
        if captioned and len(blocks) == 1 and blocks[0].text and blocks[0].images:
            # A floating image with its caption in a text box beside it: both leave the running text together.
            floating = Block(images=[(0, image) for _, image in blocks[0].images], anchors=blocks[0].anchors)
            blocks[0].images, blocks[0].anchors = [], ()
            before, after = [floating, *before, *after], []
        elif captioned and blocks and blocks[-1].images and not blocks[-1].text:  # the caption goes below its image
            before, after = [], [*before, *after]
        self.writer.blocks[first:] = [*before, *blocks, *after]

    def blocks_of(self, box: Element, kind: Kind) -> list[Block]:
        """Read a text box apart from the text around it."""
        writer, fields = self.writer, self.fields
        self.writer, self.fields = BlockWriter(), []
        self.container(box, kind)
        blocks = self.writer.blocks
        self.writer, self.fields = writer, fields
        return blocks

    def runs(self, element: Iterable[Element], *, italic: bool) -> None:
        """Read the parts of a paragraph: runs of text, bookmarks, and the elements around them."""
        for part in element:
            match local(part):
                case "r":
                    self.run(part, italic=italic)
                case "bookmarkStart":
                    self.paragraph.anchors.append(attribute(part, "name") or "")
                case "hyperlink":
                    self.hyperlink(part, italic=italic)
                case "fldSimple":
                    self.simple_field(part, italic=italic)
                case "AlternateContent":
                    self.runs(alternative(part), italic=italic)
                case name if name in WRAPPERS:
                    self.runs(part, italic=italic)

    def simple_field(self, element: Element, *, italic: bool) -> None:
        """Read a field that is one element, with its instruction as an attribute."""
        around = len(self.fields)
        self.begin_field(attribute(element, "instr") or "", in_result=True)
        self.runs(element, italic=italic)
        # In a broken file there may be more open fields than this one, or none: a mark in it may begin or end others.
        for open_field in self.fields[around:]:
            self.apply(open_field)
        del self.fields[around:]

    def hyperlink(self, element: Element, *, italic: bool) -> None:
        start = self.writer.offset
        self.runs(element, italic=italic)
        _, address = self.relations.get(attribute(element, "id") or "", ("", ""))
        target = attribute(element, "anchor") or (address[2:] if address.startswith(":#") else None)
        if target:
            self.writer.target(start, target)

    def run(self, element: Element, *, italic: bool) -> None:
        properties = child(element, "rPr")
        if is_on(properties, "vanish"):
            return
        style_name = value(properties, "rStyle")
        italic = italic or (style_name is not None and bool(self.styles.get(style_name, Style()).italic))
        # The run's own property counts more than its style.
        explicit = is_on(properties, "i")
        self.content(element, italic=italic if explicit is None else explicit)

    def content(self, element: Iterable[Element], *, italic: bool) -> None:
        """Read the parts of a run: text, breaks, fields, drawings."""
        for part in element:
            match local(part):
                case "t":
                    self.add(part.text or "", italic=italic)
                case "tab" | "ptab":
                    self.add(" ", italic=italic)
                case "br" | "cr":
                    self.line_break()
                case "noBreakHyphen":
                    self.add("-", italic=italic)
                case "fldChar":
                    self.field_mark(attribute(part, "fldCharType") or "")
                case "instrText":
                    self.instruct(part.text or "")
                case "ruby":
                    base = child(part, "rubyBase")
                    if base is not None:
                        self.runs(base, italic=italic)
                case "drawing" | "pict" | "object":
                    self.drawing(part)
                case "AlternateContent":
                    self.content(alternative(part), italic=italic)

    def add(self, text: str, *, italic: bool) -> None:
        if any(not open_field.in_result for open_field in self.fields):
            return  # the text of an instruction
        if text.strip():
            self.paragraph.breaks = 0
        self.writer.text(text, emphasised=italic)

    def line_break(self) -> None:
        """Read a break: one is a space; two in a row end a paragraph, as on web pages."""
        self.paragraph.breaks += 1
        if self.paragraph.breaks > 1:
            self.close("paragraph", self.paragraph.style)
        else:
            self.writer.text(" ")

    def field_mark(self, mark: str) -> None:
        """Read the beginning of a field, the end of its instruction, or the end of its result."""
        if mark == "begin":
            self.begin_field()
        elif mark == "separate" and self.fields:
            self.fields[-1].in_result, self.fields[-1].start = True, self.writer.offset
        elif mark == "end" and self.fields:
            self.apply(self.fields.pop())

    def begin_field(self, instruction: str = "", *, in_result: bool = False) -> None:
        if len(self.fields) >= MAX_OPEN_FIELDS:
            raise HostileDocumentError(f"more than {MAX_OPEN_FIELDS} fields within each other: no document has that")
        self.fields.append(OpenField(instruction[:MAX_INSTRUCTION], in_result, self.writer.offset))

    def instruct(self, text: str) -> None:
        """Append to the instruction of the innermost field, which comes in pieces."""
        innermost = self.fields[-1] if self.fields else None
        if innermost is not None and not innermost.in_result and len(innermost.instruction) < MAX_INSTRUCTION:
            innermost.instruction += text[:MAX_INSTRUCTION]

    def apply(self, open_field: OpenField) -> None:
        """Make the result of a cross-reference a link, and note the sequence of a running number."""
        if open_field.target is not None:
            self.writer.target(open_field.start, open_field.target)
        if open_field.sequence is not None:
            self.paragraph.sequence = open_field.sequence

    def drawing(self, element: Element) -> None:
        for part in drawn(element, (self.archive, self.relations)):
            if isinstance(part, FlowImage):
                self.paragraph.breaks = 0
                self.writer.image(part)
            else:
                self.paragraph.boxes.append((self.writer.offset, part))


def _is_contents_list(element: Element) -> bool:
    gallery = value(element, "sdtPr", "docPartObj", "docPartGallery") or ""
    return gallery.lower() in ("table of contents", "bibliographies")


def read_docx(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a Word file as one flow, without headers, footers, comments, notes, contents lists and deletions."""
    refuse_ole(path, "docx")
    # Not through python-docx, which unpacks without limits and knows neither text boxes nor fields nor bookmarks.
    with open_archive(path, settings.max_bytes) as archive:
        main = _main_part(archive)
        body = child(archive.xml(main), "body")
        if body is None:
            raise DocumentError(f"{path}: not a Word document: {main} in it has no body")
        relations = relations_of(archive, main)
        styles, language = read_styles(archive, relations)
        walk = _Walk(archive, relations, styles)
        walk.container(body, "paragraph")
        title = title_of(archive)
    return [Flow(drop_repeated_title(walk.writer.blocks), title, language)]


def _main_part(archive: Archive) -> str:
    for relation in archive.xml("_rels/.rels") if archive.find("_rels/.rels") else ():
        if (relation.get("Type") or "").endswith("/officeDocument"):
            part = archive.find(resolve("", relation.get("Target") or ""))
            if part is not None and part.endswith(".xml"):
                return part
    part = archive.find("word/document.xml")
    if part is None:
        raise DocumentError("not a Word document: word/document.xml is missing in it")
    return part
