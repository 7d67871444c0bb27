"""The last step of reading: blocks become a document, with its captions, sentences and the files of its images."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

from iconotext.errors import ImageError
from iconotext.images import inspect
from iconotext.read.address import Addresses
from iconotext.read.blocks import Block, Flow, FlowImage
from iconotext.read.captions import attach_captions, shown_caption
from iconotext.read.sentences import document_language, is_label, split_sentences
from iconotext.read.settings import ReadSettings
from iconotext.types import Document, Image, Kind, Sentence

WORDS = re.compile(r"\w")
LABEL = re.compile(r"[\w\"'“„«(][^.,;:!?。，；：、]{0,80}[.:]?")
"""A text between two pictures that may be the label of one, and no part of a sentence around them."""
STARTS = itemgetter(0)


def assemble(flow: Flow, *, path: Path, identifier: str, within: Path, settings: ReadSettings) -> Document:
    """Make a document of a reader's result.

    Args:
        flow: Blocks, title (without one, the first heading is used) and declared language (``settings.language`` has
            precedence; see ``document_language``).
        path: The file; relative image addresses start from its folder.
        within: The folder that images must not leave.
    """
    addresses = Addresses(path, within, settings)
    blocks = attach_captions(flow.blocks)
    running = [block.text for block in blocks if block.kind != "heading"] or [block.text for block in blocks]
    language = settings.language or document_language(flow.language, "\n".join(running))
    sentences: list[Sentence] = []
    images: list[Image] = []
    for number, block in enumerate(blocks):
        first = len(sentences)
        spans = _spans(block, language)
        targets = _targets(block, spans)
        sentences += [
            Sentence(block.text[start:end], number, block.kind, tuple(targets[n]), block.level)
            for n, (start, end) in enumerate(spans)
        ]
        for offset, flow_image in block.images:
            position = first + bisect_left(spans, offset, key=STARTS)
            images.append(_image(flow_image, addresses, block=number, position=position))
        if settings.captions:
            sentences += _caption_sentences(block, number, language)
    title = flow.title or next((s.text for s in sentences if s.heading), None)
    checked = inspect(images, min_side=settings.min_side, max_pixels=settings.max_pixels)
    return Document(identifier, tuple(sentences), checked, source=path, title=title, language=language)


def _spans(block: Block, language: str) -> list[tuple[int, int]]:
    """Return the positions of the sentences in a block; a heading is one sentence.

    A text without letters and digits has none, nor has the label of a figure alone that is neither a link nor a cell.
    """
    if not WORDS.search(block.text):
        return []
    if block.kind == "heading":
        return [(0, len(block.text))]
    if block.kind != "cell" and not block.targets and is_label(block.text):
        return []
    spans = []
    for start, end in pairwise([0, *(block.breaks or _labels(block)), len(block.text)]):
        spans += [(start + a, start + b) for a, b in split_sentences(block.text[start:end], language)]
    return [(a, b) for a, b in spans if WORDS.search(block.text[a:b])]


def _labels(block: Block) -> list[int]:
    """Return where the pictures of a paragraph divide it into labels: ``![](a.png) Front ![](b.png) Back``."""
    places = sorted({offset for offset, _ in block.images})
    texts = [text for a, b in pairwise([0, *places, len(block.text)]) if (text := block.text[a:b].strip())]
    # With a text before the first picture and one behind the last, pictures stand within a sentence.
    labels = len(places) > 1 < len(texts) <= len(places) and all(
        LABEL.fullmatch(t) and not t[0].islower() for t in texts
    )
    return places if labels and len({text[-1] in ".:" for text in texts}) == 1 else []


def _targets(block: Block, spans: list[tuple[int, int]]) -> list[dict[str, None]]:
    """Return for each sentence the identifiers that it links to, each once, in order."""
    targets: list[dict[str, None]] = [{} for _ in spans]
    for start, end, name in block.targets:
        for number in range(max(bisect_left(spans, start, key=STARTS) - 1, 0), len(spans)):
            if spans[number][0] >= end:
                break
            if spans[number][1] > start:
                targets[number][name] = None
    return targets


def _caption_sentences(block: Block, number: int, language: str) -> list[Sentence]:
    kind: Kind = "caption"
    texts = dict.fromkeys(t for _, p in block.images for t in (p.caption or p.title, p.alt) if t)
    return [Sentence(text[a:b], number, kind) for text in texts for a, b in split_sentences(text, language)]


def _image(flow_image: FlowImage, addresses: Addresses, *, block: int, position: int) -> Image:
    image = Image(
        source=shown_address(flow_image.sources[0]),
        file=flow_image.file,
        alt=flow_image.alt or None,
        caption=shown_caption(flow_image, flow_image.alt),
        block=block,
        position=position,
        anchors=flow_image.anchors,
        page=flow_image.page,
        box=flow_image.box,
        problem=flow_image.problem,
        at=flow_image.at,
        decorative=flow_image.decorative,
    )
    if image.file is not None or image.problem is not None:
        return image
    problem = None
    for source in flow_image.sources:
        try:
            return replace(image, source=shown_address(source), file=addresses.open(source))
        except ImageError as error:
            problem = problem or str(error)
    return replace(image, problem=problem)


def shown_address(source: str) -> str:
    """Return an address for output: a ``data:`` address is cut after its type."""
    return source if source[:5].lower() != "data:" else source[: min(len(source), 40)].split(",")[0] + ",..."
