"""The result of placing, for output: the text with its pictures as Markdown, and each place with the reason as JSON.

``markdown`` leaves the text as it was and adds pictures, ``placed`` lists the places with the reasons, and ``save``
writes a file: Markdown, the reading view, or JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from iconotext.errors import OutputError
from iconotext.evidence.words import stems, words_with
from iconotext.images.file import image_format
from iconotext.plain_text import json_text, readable, shortened
from iconotext.report.as_json import Number, Text
from iconotext.report.as_markdown import block_texts, embedding
from iconotext.report.context import image_file
from iconotext.report.flow import blocks, unlinked_reason
from iconotext.report.outputs import HTML
from iconotext.report.outputs import save as save_linked
from iconotext.report.relations import shown_relations
from iconotext.report.source_offsets import source_spans, source_text
from iconotext.system.files import check_overwrite, write_bytes, write_text
from iconotext.types import Evidence, Image, Link, LinkedDocument

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

SUFFIXES = (".md", ".markdown", *HTML.suffixes, ".json")
"""Suffixes of the files that ``save`` writes."""

SHOWN_WORDS = 5
"""Largest number of common words that a reason names."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
"""A line with its end, as Markdown counts lines."""

_CONTAINER = re.compile(r"(?:[ \t]*>[ ]?|[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+|[ \t]+)*")
"""The beginning of a line in quotations and lists."""


class PlacementOut(BaseModel):
    """A picture and the sentence that it stands at."""

    model_config = ConfigDict(extra="forbid")

    sentence: int = Field(description="Number of the sentence in the text, from 0.")
    text: Text
    start: int | None = Field(description="Beginning of the sentence in the Markdown or HTML, in characters.")
    end: int | None
    picture: Text = Field(description="Its address, as its own document writes it.")
    file: Text | None
    caption: Text | None
    alt: Text | None
    confidence: Number = Field(description="Probability that the sentence is the right one.")
    paragraph_confidence: Number = Field(description="Probability that its paragraph is, by which it was chosen.")
    evidence: dict[str, Number] = Field(description="What each kind of evidence adds to the log-odds.")
    relations: list[str] = Field(description="How sentence and picture stand to each other, where that stands out.")
    why: Text = Field(description="The reason in words.")


class LeftOutOut(BaseModel):
    """A picture that was not placed."""

    model_config = ConfigDict(extra="forbid")

    picture: Text
    file: Text | None
    why: Text


class PlacedOut(BaseModel):
    """A text and the pictures that were placed in it."""

    model_config = ConfigDict(extra="forbid")

    id: Text = Field(description="Name of the text.")
    placed: list[PlacementOut] = Field(description="In the order of the text.")
    left_out: list[LeftOutOut]
    notes: list[Text] = Field(description="What to know about all of them.")
    markdown: Text = Field(description="The text with its pictures.")


def placed(linked: LinkedDocument, folder: Path | None = None) -> PlacedOut:
    """Return the result of ``Linker.place`` with the reason for each place.

    Args:
        folder: Addresses in the Markdown are relative to it; by default to the working folder.
    """
    document, spans, relations = linked.document, source_spans(linked.document), shown_relations(linked.links)
    placements = []
    for link in _in_order(linked):
        image = document.images[link.image]
        start, end = spans[link.sentence] or (None, None)
        placements.append(
            PlacementOut(
                sentence=link.sentence,
                text=document.sentences[link.sentence].text,
                start=start,
                end=end,
                picture=image.source,
                file=image_file(image),
                caption=image.caption,
                alt=image.alt,
                confidence=link.confidence,
                paragraph_confidence=link.paragraph_confidence,
                evidence=dict(link.evidence),
                relations=[relation.name for relation, _ in relations[link.sentence, link.image]],
                why=reason(document.sentences[link.sentence].text, image, link),
            )
        )
    left_out = [
        LeftOutOut(picture=image.source, file=image_file(image), why=unlinked_reason(image))
        for number, image in enumerate(document.images)
        if number not in {link.image for link in linked.links}
    ]
    text = markdown(linked, folder)
    return PlacedOut(id=document.id, placed=placements, left_out=left_out, notes=list(linked.notes), markdown=text)


def reason(sentence: str, image: Image, link: Link) -> str:
    """Return why a picture stands at a sentence, in words: the evidence that supports it, the strongest first."""
    kinds = sorted((kind for kind, odds in link.evidence.items() if odds > 0), key=lambda kind: -link.evidence[kind])
    if "context" in kinds:
        kinds.insert(kinds.index("context") + 1, "caption")  # which is part of it
    return "; ".join(text for kind in kinds if (text := _reason_of(kind, sentence, image))) or "nothing fits it better"


def _reason_of(kind: Evidence, sentence: str, image: Image) -> str:
    if kind == "context":
        words = stems(sentence)
        nearest = max(image.context, key=lambda s: (len(words & stems(s.text)), s.confidence))
        return f"its document links it with “{shortened(readable(nearest.text), 100)}”"
    if kind == "caption":
        shared = words_with(sentence, stems(f"{image.caption or ''} {image.alt or ''}"))
        return f"its caption shares {', '.join(shared[:SHOWN_WORDS])}" if shared else ""
    return _FIXED.get(kind, kind)


_FIXED: Mapping[Evidence, str] = {
    "picture": "it shows what the sentence says",
    "ocr": "the words in it",
    "reference": "the text points at it",
}


def markdown(linked: LinkedDocument, folder: Path | None = None) -> str:
    """Return the text as Markdown with its pictures, each after the paragraph of its sentence.

    A text that is Markdown stays as it is otherwise; of another format the sentences are written, without links and
    emphasis.

    Args:
        folder: Addresses of files are relative to it; by default to the working folder.
    """
    folder = folder or Path()
    document = linked.document
    source = source_text(document)
    if source is not None and source[1] == "markdown":
        return _inserted(linked, source[0], folder)
    flow = blocks(document.sentences)
    block_of = {sentence: n for n, block in enumerate(flow) for sentence in block.sentences}
    parts: list[list[str]] = [[text] for text in block_texts(document, flow)]
    for link in _in_order(linked):
        parts[block_of[link.sentence]].append(embedding(document.images[link.image], None, folder))
    return "\n\n".join(part for group in parts for part in group) + "\n"


def _inserted(linked: LinkedDocument, text: str, folder: Path) -> str:
    """Return the Markdown with the pictures, each a paragraph of its own behind that of its sentence."""
    lines = _LINE.findall(text)
    at_line = _pictures_at_lines(linked, text, lines, folder)
    parts: list[str] = []
    for number, line in enumerate([*lines, ""]):  # pictures may also stand behind the last line
        prefix, pictures = at_line.get(number, ("", []))
        for picture in pictures:
            if parts and not parts[-1].endswith("\n"):
                parts.append("\n")
            markup = "".join(f"{prefix}{picture_line}\n" for picture_line in picture.split("\n"))
            parts.append((f"{prefix.rstrip()}\n" if parts else "") + markup)
        if pictures and line.strip("> \t\r\n"):
            parts.append(f"{prefix.rstrip()}\n")
        parts.append(line)
    return "".join(parts)


def _pictures_at_lines(
    linked: LinkedDocument, text: str, lines: Sequence[str], folder: Path
) -> dict[int, tuple[str, list[str]]]:
    """Return line to what each line of a paragraph there begins with, and the Markdown of the pictures before it."""
    spans, ends = source_spans(linked.document), _leaf_ends(text, lines)
    line_of = [number for number, line in enumerate(lines) for _ in line]  # character to its line
    at_line: dict[int, tuple[str, list[str]]] = {}
    for link in _in_order(linked):
        # A sentence that is not found in the source, such as one with a symbol of a theme, follows the one before it.
        before = next((spans[n] for n in range(link.sentence, -1, -1) if spans[n] is not None), None)
        line = 0 if before is None or not line_of else line_of[min(before[1], len(line_of)) - 1]
        end, prefix = ends.get(line, (len(lines), "")) if before is not None else (0, "")
        pictures = at_line.get(end, ("", []))[1]
        at_line[end] = prefix, [*pictures, embedding(linked.document.images[link.image], None, folder)]
    return at_line


def _leaf_ends(text: str, lines: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Return for each line of Markdown the line after its paragraph, and what a further paragraph there begins with.

    A table, and whatever else holds no paragraphs, ends as a whole.
    """
    ends: dict[int, tuple[int, str]] = {}
    for token in _parser().parse(text):
        if token.map is None or token.nesting < 0 or token.type in _CONTAINERS:
            continue
        first, end = token.map
        while end > first + 1 and not lines[end - 1].strip():  # the parser counts empty lines behind some blocks
            end -= 1
        begin = _CONTAINER.match(lines[first]) if token.level and first < len(lines) else None
        prefix = re.sub(r"[^\s>]", " ", begin[0]) if begin else ""
        for line in range(first, end):
            ends.setdefault(line, (end, prefix))  # of blocks within blocks, the outermost that is no container
    return ends


_CONTAINERS = frozenset(("bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def save(linked: LinkedDocument, path: Path, *, force: bool = False) -> None:
    """Write the result of ``Linker.place``.

    Pictures that came inside a document become files beside a Markdown file.

    Args:
        path: A file that ends in ``.md``; ``.html``, for the reading view; or ``.json``.

    Raises:
        OutputError: Another suffix, the file exists and ``force`` is not set, or it cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise OutputError(f"cannot tell from {path} what to write: name a file that ends in {', '.join(SUFFIXES)}")
    if suffix in HTML.suffixes:
        save_linked(linked, path, force=force)
        return
    check_overwrite(path, force)
    if suffix == ".json":
        write_text(path, json_text(placed(linked, path.parent).model_dump()) + "\n", force=force)
        return
    write_text(path, markdown(_with_files(linked, path, force=force), path.parent), force=force)


def _with_files(linked: LinkedDocument, path: Path, *, force: bool) -> LinkedDocument:
    """Write the placed pictures that are in memory beside a file."""
    images = list(linked.document.images)
    for link in linked.links:
        data = images[link.image].file
        if isinstance(data, bytes):
            row = image_format(data[:4096])
            file = path.with_name(f"{path.stem}-{link.image + 1}{row.suffixes[0] if row else ''}")
            if not (file.is_file() and file.read_bytes() == data):  # left by a run that did not end
                write_bytes(file, data, force=force)
            images[link.image] = replace(images[link.image], file=file)
    return replace(linked, document=replace(linked.document, images=tuple(images)))


def _in_order(linked: LinkedDocument) -> list[Link]:
    return sorted(linked.links, key=lambda link: (link.sentence, -link.confidence, link.image))
