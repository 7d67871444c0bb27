"""A Word file: its parts, its title, and the walk through its body.

The XML is read directly: python-docx opens the zip without limits, ignores text boxes, fields, bookmarks and VML
images, and does not open the "strict" variant. Namespaces are ignored, since that variant has others.
"""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import DocumentError
from iconotext.read.archive import Archive, open_archive, resolve
from iconotext.read.blocks import Flow, drop_repeated_title
from iconotext.read.docx.styles import read_styles
from iconotext.read.docx.walk import body_blocks
from iconotext.read.docx.xml import child
from iconotext.read.office import refuse_ole, relations_of, title_of
from iconotext.read.settings import ReadSettings


def read_docx(path: Path, settings: ReadSettings) -> list[Flow]:
    """A Word file (.docx), as one flow, without headers, footers, comments, notes, contents lists and deletions."""
    refuse_ole(path, "docx")
    with open_archive(path, settings.max_bytes) as archive:
        main = _main_part(archive)
        body = child(archive.xml(main), "body")
        if body is None:
            raise DocumentError(f"{path}: not a Word document: {main} in it has no body")
        relations = relations_of(archive, main)
        styles, language = read_styles(archive, relations)
        targets = {key: target for key, (_, target) in relations.items()}
        blocks = body_blocks(body, archive, targets, styles)
        title = title_of(archive)
    return [Flow(drop_repeated_title(blocks), title, language)]


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
