"""DOCX → blocks: the body of a Word file in reading order, with its pictures, captions and cross-references.

The XML is walked directly: python-docx opens the zip without limits, gives no text boxes, fields, bookmarks or VML
pictures, and does not open the "strict" variant. Namespaces are ignored throughout, as that one has others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.archive import Archive, Element, open_archive, resolve
from iconotext.read.blocks import LABEL, Block, BlockWriter, Flow, drop_repeated_title
from iconotext.read.docx_images import drawn, image_of
from iconotext.read.docx_styles import TABLE_LABEL, Style, kind_of_properties, read_styles
from iconotext.read.docx_xml import WRAPPERS, alternative, attribute, child, children, is_on, local
from iconotext.read.settings import ReadSettings
from iconotext.types import Kind

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
REFERENCE = re.compile(r"^\s*+(?:PAGE)?REF\s++\"?([^\s\"\\]++)", re.IGNORECASE)
LOCAL_LINK = re.compile(r"^\s*+HYPERLINK\s.*?\\l\s++\"([^\"]++)\"", re.IGNORECASE | re.DOTALL)
SEQUENCE = re.compile(r"^\s*+SEQ\s++\"?([^\s\"\\]++)", re.IGNORECASE)
MAX_OPEN_FIELDS = 100
"""Fields within each other; Word itself allows twenty."""
MAX_ANCHORS = 1_000
"""Bookmarks of one paragraph."""
MAX_INSTRUCTION = 10_000
"""Characters of a field's instruction that are kept; addresses, the longest of them, have at most some 2,000."""


@dataclass(slots=True)
class OpenField:
    """A field (``REF``, ``SEQ``, ...) whose end has not come yet."""

    instruction: str = ""
    in_result: bool = False
    start: int = 0

    def instruct(self, text: str) -> None:
        """Add to the instruction, which comes in pieces."""
        if len(self.instruction) < MAX_INSTRUCTION:
            self.instruction += text[:MAX_INSTRUCTION]


@dataclass(slots=True)
class OpenParagraph:
    """What is known of a paragraph while its runs are read."""

    style: Style
    anchors: list[str] = field(default_factory=list)
    sequence: str | None = None  # what its SEQ field counts: "Figure", "Table"
    boxes: list[tuple[int, Element]] = field(default_factory=list)  # (offset, content of a text box)
    breaks: int = 0


def read_docx(path: Path, settings: ReadSettings) -> list[Flow]:
    """A Word file (.docx), as one flow. Headers, footers, comments, notes, contents lists and deletions are left out.

    Raises:
        HostileDocumentError: It passes a limit; see ``open_archive``.
        DocumentError: It is no Word file, damaged, or has a password.
    """
    with path.open("rb") as file:
        if file.read(8) == OLE:
            raise DocumentError(f"{path}: a .doc file or one with a password: save it as .docx without a password")
    with open_archive(path, settings.max_bytes) as archive:
        main = _main_part(archive)
        body = child(archive.xml(main), "body")
        if body is None:
            raise DocumentError(f"{path}: not a Word document: {main} in it has no body")
        relations = _relations(archive, main)
        styles, language = read_styles(archive, relations)
        walk = _Walk(archive, {key: target for key, (_, target) in relations.items()}, styles)
        walk.container(body, "paragraph")
        title = _title(archive)
    return [Flow(drop_repeated_title(walk.writer.blocks), title, language)]


def _main_part(archive: Archive) -> str:
    relations = archive.xml("_rels/.rels") if archive.find("_rels/.rels") else ()
    for relation in relations:
        if (relation.get("Type") or "").endswith("/officeDocument"):
            found = archive.find(resolve("", relation.get("Target") or ""))
            if found is not None and found.endswith(".xml"):
                return found
    found = archive.find("word/document.xml")
    if found is None:
        raise DocumentError("not a Word document: word/document.xml is missing in it")
    return found


def _relations(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Relations of a part: id → (last word of the type, target; ``:`` before one outside the file)."""
    folder, _, name = part.rpartition("/")
    found = archive.find(f"{folder}/_rels/{name}.rels")
    relations = {}
    for relation in archive.xml(found) if found else ():
        target = relation.get("Target") or ""
        outside = (relation.get("TargetMode") or "").lower() == "external"
        kind = (relation.get("Type") or "").rpartition("/")[2]
        relations[relation.get("Id") or ""] = (kind, ":" + target if outside else resolve(part, target))
    return relations


def _title(archive: Archive) -> str | None:
    found = archive.find("docProps/core.xml")
    if found is None:
        return None
    try:
        title = child(archive.xml(found), "title")
    except HostileDocumentError:
        raise
    except DocumentError:
        return None  # broken metadata is no reason to refuse the text
    text = " ".join((title.text or "").split()) if title is not None else ""
    return text or None


class _Walk:
    """One pass over the body; keeps what is open at the moment."""

    def __init__(self, archive: Archive, targets: dict[str, str], styles: dict[str, Style]) -> None:
        self.archive = archive
        self.relations = targets
        self.styles = styles
        self.writer = BlockWriter()
        self.pending: list[str] = []  # bookmarks between paragraphs: they name what comes next
        self.fields: list[OpenField] = []
        self.paragraph = OpenParagraph(Style())

    def container(self, element: Iterable[Element], kind: Kind) -> None:
        """Body, table cell, text box: paragraphs, tables, and what stands around them."""
        for part in element:
            name = local(part)
            if name == "p":
                self.read_paragraph(part, kind)
            elif name == "tbl":
                self.table(part, kind)
            elif name == "bookmarkStart":
                self.pending.append(attribute(part, "name") or "")
            elif name in WRAPPERS and not _is_contents_list(part):
                self.container(part, kind)
            elif name == "AlternateContent":
                self.container(alternative(part), kind)

    def table(self, element: Element, kind: Kind) -> None:
        cells = [cell for row in children(element, "tr") if not _is_deleted(row) for cell in children(row, "tc")]
        for cell in cells:
            merge = child(cell, "tcPr", "vMerge")
            if merge is None or attribute(merge, "val") == "restart":  # a cell that goes on from above counts once
                self.container(cell, kind if len(cells) == 1 else "cell")  # a single cell is a frame around text

    def read_paragraph(self, element: Element, kind: Kind) -> None:
        properties = child(element, "pPr")
        named = child(properties, "pStyle")
        style = self.styles.get((attribute(named, "val") or "") if named is not None else "", self.styles[""])
        if style.left_out:
            return
        if style.kind is None or style.kind == "item":
            style = replace(style, kind=kind_of_properties(properties) or style.kind)
        outer, self.paragraph = self.paragraph, OpenParagraph(style, anchors=self.pending)
        self.pending = []
        first = len(self.writer.blocks)
        for open_field in self.fields:  # a field that goes on from the paragraph before
            open_field.start = 0
        self.runs(element, italic=style.italic)
        self.close(kind, style)
        self.finish(first, kind)
        self.paragraph = outer

    def close(self, kind: Kind, style: Style) -> None:
        for open_field in self.fields:
            self.point(open_field)
            open_field.start = 0
        own = style.kind
        sequence = self.paragraph.sequence
        if sequence is not None:
            own = "paragraph" if TABLE_LABEL.match(sequence) else "caption"
        self.writer.close(kind if own is None or (own == "paragraph" and sequence is None) else own)

    def finish(self, first: int, kind: Kind) -> None:
        """Give the blocks of a paragraph their anchors, part pictures from captions, add its text boxes."""
        paragraph, blocks = self.paragraph, self.writer.blocks[first:]
        anchors = [name for name in dict.fromkeys(paragraph.anchors) if name and name != "_GoBack"]
        if len(anchors) > MAX_ANCHORS:
            raise HostileDocumentError(f"more than {MAX_ANCHORS:,} bookmarks on one paragraph: no document has that")
        if anchors and not blocks:
            self.pending = anchors + self.pending  # an empty paragraph between a bookmark and its picture
        if anchors and blocks:
            for block in blocks:
                block.anchors = tuple(anchors)
                block.pictures = [(o, replace(p, anchors=p.anchors + block.anchors)) for o, p in block.pictures]
        blocks = [part for block in blocks for part in _part_caption(block)]
        before = [self.inside(box, kind) for offset, box in paragraph.boxes if offset == 0]
        after = [self.inside(box, kind) for offset, box in paragraph.boxes if offset > 0]
        captioned = any(b.kind == "caption" or LABEL.match(b.text) for part in (*before, *after) for b in part)
        if captioned and len(blocks) == 1 and blocks[0].text and blocks[0].pictures:
            # A floating picture with its caption in a text box beside it: the two leave the running text together.
            floating = Block(pictures=[(0, picture) for _, picture in blocks[0].pictures], anchors=blocks[0].anchors)
            blocks[0].pictures, blocks[0].anchors = [], ()
            before.insert(0, [floating])
            before, after = [*before, *after], []
        elif captioned and blocks and blocks[-1].pictures and not blocks[-1].text:
            before, after = [], [*before, *after]
        ordered = [*(b for part in before for b in part), *blocks, *(b for part in after for b in part)]
        self.writer.blocks[first:] = ordered

    def inside(self, box: Element, kind: Kind) -> list[Block]:
        """The blocks of a text box."""
        writer, fields = self.writer, self.fields
        self.writer, self.fields = BlockWriter(), []
        self.container(box, kind)
        blocks = self.writer.blocks
        self.writer, self.fields = writer, fields
        return blocks

    def runs(self, element: Iterable[Element], *, italic: bool) -> None:
        """Runs and what may stand around them within a paragraph."""
        for part in element:
            name = local(part)
            if name == "r":
                self.run(part, italic=italic)
            elif name == "bookmarkStart":
                self.paragraph.anchors.append(attribute(part, "name") or "")
            elif name == "hyperlink":
                self.hyperlink(part, italic=italic)
            elif name == "fldSimple":
                self.open_field(OpenField((attribute(part, "instr") or "")[:MAX_INSTRUCTION], True, self.writer.offset))
                self.runs(part, italic=italic)
                self.end_field()
            elif name in WRAPPERS:
                self.runs(part, italic=italic)
            elif name == "AlternateContent":
                self.runs(alternative(part), italic=italic)

    def hyperlink(self, element: Element, *, italic: bool) -> None:
        start = self.writer.offset
        self.runs(element, italic=italic)
        outside = self.relations.get(attribute(element, "id") or "", "")
        target = attribute(element, "anchor") or (outside[2:] if outside.startswith(":#") else None)
        if target:
            self.writer.target(start, target)

    def run(self, element: Element, *, italic: bool) -> None:
        properties = child(element, "rPr")
        if is_on(properties, "vanish"):
            return
        named = child(properties, "rStyle")
        if named is not None:
            italic = italic or self.styles.get(attribute(named, "val") or "", Style()).italic
        own = is_on(properties, "i")
        self.content(element, italic=italic if own is None else own)

    def content(self, element: Iterable[Element], *, italic: bool) -> None:
        """What stands in a run."""
        for part in element:
            match local(part):
                case "t":
                    self.add(part.text or "", italic=italic)
                case "tab" | "ptab":
                    self.add(" ", italic=True)
                case "br" | "cr":
                    self.line_break()
                case "noBreakHyphen":
                    self.add("-", italic=italic)
                case "fldChar":
                    self.field_mark(attribute(part, "fldCharType") or "")
                case "instrText":
                    if self.fields and not self.fields[-1].in_result:
                        self.fields[-1].instruct(part.text or "")
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
            return
        if text.strip():
            self.paragraph.breaks = 0
        self.writer.text(text, emphasised=italic)

    def line_break(self) -> None:
        """One break is a space; two in a row end a paragraph, as on web pages."""
        self.paragraph.breaks += 1
        if self.paragraph.breaks > 1:
            self.close("paragraph", self.paragraph.style)
        else:
            self.writer.text(" ", emphasised=True)

    def field_mark(self, mark: str) -> None:
        if mark == "begin":
            self.open_field(OpenField())
        elif mark == "separate" and self.fields:
            self.fields[-1].in_result = True
            self.fields[-1].start = self.writer.offset
        elif mark == "end" and self.fields:
            self.end_field()

    def open_field(self, opened: OpenField) -> None:
        if len(self.fields) >= MAX_OPEN_FIELDS:
            raise HostileDocumentError(f"more than {MAX_OPEN_FIELDS} fields within each other: no document has that")
        self.fields.append(opened)

    def end_field(self) -> None:
        self.point(self.fields[-1])
        self.fields.pop()

    def point(self, open_field: OpenField) -> None:
        """Note what the field, with its result so far, says about the paragraph."""
        if open_field.in_result and (
            found := (REFERENCE.match(open_field.instruction) or LOCAL_LINK.match(open_field.instruction))
        ):
            self.writer.target(open_field.start, found[1])
        if (counted := SEQUENCE.match(open_field.instruction)) is not None:
            self.paragraph.sequence = counted[1]

    def drawing(self, element: Element) -> None:
        """Pictures and text boxes of a drawing."""
        for found in drawn(element):
            if found.box is not None:
                self.paragraph.boxes.append((self.writer.offset, found.box))
            else:
                self.paragraph.breaks = 0
                self.writer.picture(image_of(found, self.relations, self.archive))


def _is_deleted(row: Element) -> bool:
    return child(row, "trPr", "del") is not None


def _is_contents_list(element: Element) -> bool:
    gallery = child(element, "sdtPr", "docPartObj", "docPartGallery")
    return gallery is not None and (attribute(gallery, "val") or "").lower() in ("table of contents", "bibliographies")


def _part_caption(block: Block) -> list[Block]:
    """Picture and caption in one paragraph, parted by a line break, become two blocks."""
    if not block.pictures or not block.text or not (block.kind == "caption" or LABEL.match(block.text)):
        return [block]
    pictures = Block(pictures=[(0, picture) for _, picture in block.pictures])
    caption = replace(block, kind="caption", pictures=[])
    above = block.pictures[0][0] < len(block.text) / 2  # the picture stands above its caption
    return [pictures, caption] if above else [caption, pictures]
