"""The common parts of Office files: relations between parts, properties, and the beginning of an encrypted file."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.archive import Archive, resolve
from iconotext.read.docx_parts import child

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def refuse_ole(path: Path, kind: str) -> None:
    """Raise ``DocumentError`` for a file of the old format or one with a password; the message says what to do."""
    with path.open("rb") as file:
        if file.read(8) == OLE:
            raise DocumentError(
                f"{path}: a .{kind[:-1]} file or one with a password: save it as .{kind} without a password"
            )


def relations_of(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Return the relations of a part: id to (last word of the type, target; ``:`` before one outside the file)."""
    folder, _, name = part.rpartition("/")
    found = archive.find(f"{folder}/_rels/{name}.rels")
    relations = {}
    for relation in archive.xml(found) if found else ():
        target = relation.get("Target") or ""
        outside = (relation.get("TargetMode") or "").lower() == "external"
        kind = (relation.get("Type") or "").rpartition("/")[2]
        relations[relation.get("Id") or ""] = (kind, ":" + target if outside else resolve(part, target))
    return relations


def title_of(archive: Archive) -> str | None:
    """Return the title in the properties of an Office file; None without one."""
    found = archive.find("docProps/core.xml")
    if found is None:
        return None
    try:
        title = child(archive.xml(found), "title")
    except HostileDocumentError:
        raise
    except DocumentError:
        return None  # broken metadata is no reason to reject the text
    text = " ".join((title.text or "").split()) if title is not None else ""
    return text or None
