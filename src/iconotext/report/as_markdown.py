"""A linked document as Markdown: its text, with each image after the block that it belongs to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from iconotext.plain_text import percent, readable, shortened
from iconotext.report.explanation import carried_by
from iconotext.report.flow import Block, blocks, images_after, links_by_image, space_after, title, unlinked_reason
from iconotext.report.relations import LABELS, shown_relations
from iconotext.types import Document, Image, Kind, Link, LinkedDocument

_BEFORE: dict[Kind, str] = {"heading": "## ", "item": "- ", "quote": "> "}
# Characters that every Markdown can escape with a backslash; the others are escaped with HTML entities.
_INLINE = re.compile(r"()(?:([\\`*_#\[\]{}])|([<>&|~$^]|@(?=[^\W\d_])))")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp)(?=:)|\bwww(?=\.)")
_BLOCK_START = re.compile(r"^(\d+(?=[.)])|)(?:([+.)-])|([=:]))")

Related = Mapping[tuple[int, int], Sequence[str]]
"""(sentence, image) of a link to its relations, in words."""


def markdown(linked: LinkedDocument, folder: Path) -> str:
    """Return the document as CommonMark; nothing in it can act as Markdown or HTML of its own.

    The title is a heading of level 1, every other heading is of level 2. Addresses of image files are relative to
    ``folder``, that of the Markdown file.
    """
    document = linked.document
    by_image = links_by_image(linked)
    related = {
        place: [LABELS[relation.name] for relation, _ in relations]
        for place, relations in shown_relations(linked.links).items()
    }
    flow = blocks(document.sentences)
    after = images_after(document, flow, {image: links[0] for image, links in by_image.items()})
    parts: list[str] = []
    titled = not (flow and flow[0].kind == "heading" and _text(document, flow[0]) == document.title)
    if titled:
        parts.append("# " + block_text(title(document)))
    parts += [_image(document, by_image[image], related, folder) for image in after.get(-1, [])]
    for number, text in enumerate(block_texts(document, flow)):
        parts.append(text if number or titled else f"# {text.removeprefix('## ')}")
        parts += [_image(document, by_image[image], related, folder) for image in after.get(number, [])]
    parts += _unlinked(linked, by_image)
    return "\n\n".join(parts) + "\n"


def markdown_pages(documents: Iterable[LinkedDocument], folder: Path) -> Iterator[str]:
    """Yield the ``markdown`` of every document, for one file in that folder, separated by rules."""
    for number, linked in enumerate(documents):
        yield ("\n---\n\n" if number else "") + markdown(linked, folder)


def block_texts(document: Document, flow: Sequence[Block]) -> list[str]:
    """Return the blocks of a document as Markdown, without images."""
    return [_BEFORE.get(block.kind, "") + block_text(_text(document, block)) for block in flow]


def block_text(text: str) -> str:
    """Return text that is plain text in any kind of Markdown: one line, without markup, HTML or links."""
    return _BLOCK_START.sub(_literal, inline_text(text))


def inline_text(text: str) -> str:
    """Return the same for text within a line, such as a table cell."""
    line = " ".join(readable(text).split())
    line = _INLINE.sub(_literal, line)
    # In most Markdown an address becomes a link; an invisible entity inside prevents that.
    return _ADDRESS.sub(lambda match: f"{match[0][:-1]}&#{ord(match[0][-1])};", line)


def _literal(match: re.Match[str]) -> str:
    before, escapable, other = match.groups()
    return f"{before}\\{escapable}" if escapable else f"{before}&#{ord(other)};"


def _text(document: Document, block: Block) -> str:
    texts = [document.sentences[i].text for i in block.sentences]
    return "".join(text + space_after(text) for text in texts[:-1]) + texts[-1]


def _image(document: Document, links: list[Link], related: Related, folder: Path) -> str:
    image = document.images[links[0].image]
    lines = [embedding(image, document.source, folder)]
    targets = (
        f"“{inline_text(shortened(document.sentences[link.sentence].text, 100))}” ({_why(document, link, related)})"
        for link in links
    )
    lines.append("Linked to " + "; ".join(targets))
    return "\\\n".join(lines)


def _why(document: Document, link: Link, related: Related) -> str:
    words = carried_by(document.sentences[link.sentence].text, link.explanation)
    relations = ", ".join(related[link.sentence, link.image])
    return (
        f"{percent(link.confidence)}, its paragraph {percent(link.paragraph_confidence)}"
        + (f"; {relations}" if relations else "")
        + (f"; carried by: {inline_text(words)}" if words else "")
    )


def embedding(image: Image, source: Path | None, folder: Path) -> str:
    """Return the image, with its caption below, for a Markdown file in ``folder``; ``source`` is its document."""
    if image.source.startswith("data:") and not isinstance(image.file, Path):  # it came inside the document
        embedded = block_text(f"[picture within the document] {image.alt or ''}")
    else:
        embedded = f"![{inline_text(image.alt or '')}](<{_address(_relative_address(folder, image, source))}>)"
    caption = f"\\\n*{inline_text(image.caption)}*" if image.caption and readable(image.caption).strip() else ""
    return embedded + caption


def _relative_address(folder: Path, image: Image, source: Path | None) -> str:
    """Return the address of an image for a file in the folder; unchanged if that is the document's own folder."""
    beside = source is not None and os.path.realpath(source.parent) == os.path.realpath(folder)
    if not isinstance(image.file, Path) or (beside and not image.source.startswith("/")):
        return image.source
    try:
        relative = os.path.relpath(os.path.realpath(image.file), os.path.realpath(folder))
    except ValueError:  # on another drive
        return image.file.resolve().as_uri()
    return quote(os.fsencode(relative.replace(os.sep, "/")))


def _address(source: str) -> str:
    # Percent signs stay: the address is already quoted if necessary.
    address = quote(readable(source), safe="/:?#@!$&'*+,;=%~()[]")
    # An address must not have the scheme of a script.
    return address if not re.match(r"(?i)(javascript|vbscript|data):", address) else "#"


def _unlinked(linked: LinkedDocument, by_image: dict[int, list[Link]]) -> list[str]:
    entries = [
        f"- {block_text(image.source)}: {inline_text(unlinked_reason(image))}"
        for i, image in enumerate(linked.document.images)
        if i not in by_image
    ]
    return ["## Pictures that were not linked", "\n".join(entries)] if entries else []
