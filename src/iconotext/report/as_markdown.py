"""A linked document as Markdown: its text, with every picture after the block that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from iconotext.report.carried import carried_by
from iconotext.report.flow import Block, blocks, links_by_image, placed, space_after, title, unlinked_reason
from iconotext.report.readable import percent, readable, shortened
from iconotext.report.related import LABELS, likely_relations
from iconotext.types import Document, Image, Kind, Link, LinkedDocument

_BEFORE: dict[Kind, str] = {"heading": "## ", "item": "- ", "quote": "> "}
_INLINE = re.compile(r"([\\`*_\[\]<>&|~$@^{}])")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp)(?=:)|\bwww(?=\.)")
_BLOCK_START = re.compile(r"^(?:([#+=:-])|(\d+)([.)]))")


def markdown(linked: LinkedDocument) -> str:
    """The document as CommonMark; nothing in it can act as Markdown or HTML of its own.

    Heading levels are not known any more: the title is level 1, every other heading level 2.
    """
    document = linked.document
    by_image = links_by_image(linked)
    flow = blocks(document.sentences)
    after = placed(flow, {image: links[0] for image, links in by_image.items()})
    parts: list[str] = []
    if not (flow and flow[0].kind == "heading" and _text(document, flow[0]) == document.title):
        parts.append("# " + escape(title(document)))
    for number, block in enumerate(flow):
        text = escape(_text(document, block))
        parts.append(("# " if number == 0 and not parts else _BEFORE.get(block.kind, "")) + text)
        parts += [_picture(document, document.images[image], by_image[image]) for image in after.get(number, [])]
    parts += _unlinked(document, by_image)
    return "\n\n".join(parts) + "\n"


def markdown_pages(documents: Iterable[LinkedDocument]) -> Iterator[str]:
    """Every document as ``markdown`` gives it, with a rule between two."""
    rule = ""
    for linked in documents:
        yield rule + markdown(linked)
        rule = "\n---\n\n"


def escape(text: str) -> str:
    """Text that reads as itself in Markdown: one line, no markup, no links of its own."""
    line = " ".join(readable(text).split())
    line = _INLINE.sub(r"\\\1", line)
    # An address becomes a link by itself in most Markdown; an entity within breaks it without a trace for the reader.
    line = _ADDRESS.sub(lambda found: f"{found[0][:-1]}&#{ord(found[0][-1])};", line)
    return _BLOCK_START.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", line)


def _text(document: Document, block: Block) -> str:
    texts = [document.sentences[i].text for i in block.sentences]
    return "".join(text + space_after(text) for text in texts[:-1]) + texts[-1]


def _picture(document: Document, image: Image, links: list[Link]) -> str:
    lines = [_embedding(image)]
    if image.caption:
        lines.append(f"*{escape(image.caption)}*")
    named = (
        f"“{escape(shortened(document.sentences[link.sentence].text, 100))}” ({_sure(document, link)})"
        for link in links
    )
    lines.append("Linked to " + "; ".join(named))
    return "\\\n".join(lines)


def _sure(document: Document, link: Link) -> str:
    words = carried_by(document.sentences[link.sentence].text, link.explanation)
    related = ", ".join(LABELS[relation.name] for relation, _ in likely_relations(link))
    return (
        percent(link.confidence)
        + (f"; {related}" if related else "")
        + (f"; carried by: {escape(words)}" if words else "")
    )


def _embedding(image: Image) -> str:
    if image.source.startswith("data:"):  # it came inside the document and has no address that leads anywhere
        return escape(f"[picture within the document] {image.alt or ''}")
    # Percent signs stay: the address is as the document wrote it, quoted where that was needed.
    return f"![{escape(image.alt or '')}](<{_address(image.source)}>)"


def _address(source: str) -> str:
    address = quote(readable(source), safe="/:?#@!$&'*+,;=%~()[]")
    # The scheme of a script is no address of a picture.
    return address if not re.match(r"(?i)(javascript|vbscript|data):", address) else "#"


def _unlinked(document: Document, by_image: dict[int, list[Link]]) -> list[str]:
    left = [image for i, image in enumerate(document.images) if i not in by_image]
    if not left:
        return []
    entries = [f"- {escape(image.source)}: {escape(unlinked_reason(image))}" for image in left]
    return ["## Pictures that were not linked", "\n".join(entries)]
