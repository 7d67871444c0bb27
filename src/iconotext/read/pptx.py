"""PPTX → blocks: the slides of a presentation in their order, each a section with its pictures, tables and notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from iconotext.errors import DocumentError
from iconotext.read.archive import Archive, Element, open_archive
from iconotext.read.blocks import BlockWriter, Flow
from iconotext.read.office import (
    OFF,
    Relations,
    alternative,
    alternative_text,
    attribute,
    blip_image,
    child,
    drawing_title,
    is_hidden,
    local,
    refuse_ole,
    relations_of,
    title_of,
)
from iconotext.read.settings import ReadSettings
from iconotext.types import Kind

TITLES = {"ctrTitle": 1, "title": 2}  # kinds of placeholders with the heading of a slide, to its level
FURNITURE = frozenset(("dt", "ftr", "hdr", "sldNum", "sldImg"))  # date, footer, header, number and image of a slide


def read_pptx(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a presentation, as one flow.

    Hidden slides, drawings of masters and layouts, charts and diagrams are left out.
    """
    refuse_ole(path, "pptx")
    with open_archive(path, settings.max_bytes) as archive:
        main = archive.find("ppt/presentation.xml")
        slides = child(archive.xml(main), "sldIdLst") if main is not None else None
        if main is None or slides is None:
            raise DocumentError("not a presentation: it has no slides")
        parts = relations_of(archive, main)
        walk = _Walk(archive)
        for slide in slides:
            identifier = next((value for key, value in slide.items() if key.endswith("}id")), "")
            member = archive.find(parts.get(identifier, ("", ""))[1])
            if member is not None:
                walk.slide(member)
        title = title_of(archive)
    return [Flow(walk.writer.blocks, None if title == "PowerPoint Presentation" else title)]


class _Walk:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.writer = BlockWriter()
        self.relations: Relations = {}  # of the slide

    def slide(self, part: str) -> None:
        """Read a slide: its heading, its shapes, and the speaker's notes."""
        root = self.archive.xml(part)
        tree = child(root, "cSld", "spTree")
        if tree is None or (attribute(root, "show") or "1").lower() in OFF:
            return
        self.relations = relations_of(self.archive, part)
        # The heading comes first, wherever it was drawn; the sort is stable, so that the others keep their order.
        for shape in sorted(_shapes(tree), key=lambda shape: _placeholder(shape) not in TITLES):
            self.shape(shape)
        notes = next((self.archive.find(name) for kind, name in self.relations.values() if kind == "notesSlide"), None)
        tree_of_notes = child(self.archive.xml(notes), "cSld", "spTree") if notes is not None else None
        for shape in _shapes(tree_of_notes) if tree_of_notes is not None else ():
            if _placeholder(shape) == "body":
                self.paragraphs(child(shape, "txBody"), "paragraph", None)

    def shape(self, shape: Element) -> None:
        """Read a shape: its picture, then its text; or a table."""
        placeholder = _placeholder(shape)
        if placeholder in FURNITURE:
            return
        name = local(shape)
        if name == "graphicFrame":
            self.table(shape)
            return
        properties = child(shape, "nvPicPr" if name == "pic" else "nvSpPr", "cNvPr")
        blip = child(shape, "blipFill", "blip") if name == "pic" else child(shape, "spPr", "blipFill", "blip")
        if blip is not None and not is_hidden(properties):
            image = blip_image(blip, (self.archive, self.relations))
            self.writer.image(replace(image, alt=alternative_text(properties), title=drawing_title(properties)))
            self.writer.close()
        kind: Kind = (
            "heading" if placeholder in TITLES else "paragraph" if placeholder in (None, "subTitle") else "item"
        )
        self.paragraphs(child(shape, "txBody"), kind, TITLES.get(placeholder or ""))

    def table(self, frame: Element) -> None:
        """Read the cells of a table; cells that are covered by a merged cell have no text."""
        table = child(frame, "graphic", "graphicData", "tbl")
        for row in table if table is not None else ():
            for cell in row if local(row) == "tr" else ():
                if local(cell) == "tc":
                    self.paragraphs(child(cell, "txBody"), "cell", None)

    def paragraphs(self, body: Element | None, kind: Kind, level: int | None) -> None:
        """Read the paragraphs of a shape; those of a heading become one."""
        for paragraph in body if body is not None else ():
            if local(paragraph) != "p":
                continue
            for run in paragraph:
                text = child(run, "t")
                if local(run) == "br" or (local(run) == "fld" and attribute(run, "type") == "slidenum"):
                    self.writer.text(" ")
                elif text is not None:
                    italic = (attribute(child(run, "rPr"), "i") or "0").lower() not in OFF
                    self.writer.text(text.text or "", emphasised=italic)
            if kind == "heading":
                self.writer.text(" ")
            else:
                self.writer.close(kind)
        self.writer.close(kind, level)


def _shapes(tree: Element) -> Iterator[Element]:
    """Yield shapes, pictures and tables in the order of the file, also those in groups."""
    for part in tree:
        match local(part):
            case "sp" | "pic" | "graphicFrame":
                yield part
            case "grpSp":
                yield from _shapes(part)
            case "AlternateContent":
                yield from (shape for shape in alternative(part) if local(shape) in ("sp", "pic", "graphicFrame"))


def _placeholder(shape: Element) -> str | None:
    """Return the kind of placeholder that a shape is; None for other shapes."""
    for part in shape:
        placeholder = child(part, "nvPr", "ph")
        if placeholder is not None:
            return attribute(placeholder, "type") or "obj"
    return None
