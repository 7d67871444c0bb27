"""The reading view of a linked document, and its JSON: files beside its pictures, made again when it is opened."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.plain_text import json_text
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.links.settings import LinkSettings
    from iconotext.report.embedded import Embedded
    from iconotext.types import Document, LinkedDocument

PAGE, LINKED, ROUND = "page.html", "linked.json", "round"
"""Files: the reading view, its JSON (like ``iconotext link --to json``), and the ``round`` of which they are."""


def write_view(
    linked: LinkedDocument,
    home: Path,
    leads: Mapping[str, str],
    round_: int,
    shown: Mapping[int, Embedded],
    settings: LinkSettings,
) -> None:
    """Write the reading view, its JSON, and their round.

    Args:
        leads: Name to address of the pages to which the reading view links, besides the list of all documents.
    """
    from iconotext.report.as_json import json_object

    page = page_of(linked, leads, shown, settings, changed=False)
    (home / ROUND).unlink(missing_ok=True)
    write_text(home / PAGE, page, force=True)
    write_text(home / LINKED, json_text(json_object(linked)) + "\n", force=True)
    write_text(home / ROUND, str(round_), force=True)


def page_of(
    linked: LinkedDocument,
    leads: Mapping[str, str],
    shown: Mapping[int, Embedded],
    settings: LinkSettings,
    *,
    changed: bool,
) -> str:
    """The reading view, with a form for its settings; ``changed``: whether they differ from the usual ones."""
    from iconotext.report.reading_page import reading_page

    return reading_page(linked, index="/", leads=leads, embedded=shown, form=settings, changed=changed)


def embedded_in(home: Path, document: Document) -> dict[int, Embedded]:
    """The pictures of a document as they were embedded when it was linked; missing ones are embedded now."""
    from PIL import Image as Pixels

    from iconotext.report.embedded import Embedded, embed
    from iconotext.report.reading_page import shown_images

    found, wanted = {}, shown_images(document)
    for number in wanted:
        for kind in ("jpeg", "png"):
            if (file := home / f"{number}.{kind}").is_file():
                with Pixels.open(file) as pixels:
                    size = pixels.size
                data = base64.b64encode(file.read_bytes()).decode("ascii")
                found[number] = Embedded(f"data:image/{kind};base64,{data}", *size)
    return found | embed(document.images, [number for number in wanted if number not in found])
