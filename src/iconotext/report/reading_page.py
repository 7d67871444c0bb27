"""The reading view as one HTML page: the text, its images beside it, and lines from each image to its sentences.

A page is one file, unless a server has its images. It makes no other network requests, and its Content-Security-Policy
allows only the one script of iconotext; text of the document is inserted only through Jinja's escaping.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from iconotext.decide.measured import measured_at, measured_for
from iconotext.evidence.kinds import evidence_names
from iconotext.plain_text import counted, percent, readable
from iconotext.report.embedded import PAGE_SIDE, Embedded, embed
from iconotext.report.explanation import carried_by, explanation_data
from iconotext.report.flow import (
    Block,
    blocks,
    images_after,
    is_guess,
    links_by_image,
    shown_source,
    space_after,
    title,
    unlinked_reason,
)
from iconotext.report.page import PACKAGE, filled, is_untouched, sealed
from iconotext.report.relations import relation_data
from iconotext.system.files import write_text
from iconotext.types import Document, Evidence, Kind, Link, LinkedDocument

HUES = 6
"""Number of colours of lines, ``hue-0`` to ``hue-5`` in the style sheet, used by images in turn."""

PICTURES_OF_A_SENTENCE = 3
"""Numbers of images that follow a sentence; a count opens the others."""

CONTENTS = 4
"""Fewest headings, besides the title, of a document with a list of contents."""

DEEPEST = 2
"""Levels by which the list indents a heading at most."""

LONGEST_WORD = 16
"""A last word of at most this many characters stays on one line with the number of the image after it."""

_RIGHT_TO_LEFT = {"ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"}


@dataclass(frozen=True, slots=True)
class _Span:
    """A sentence on the page, in two parts: ``end`` stays on one line with the number of the image after it.

    ``links`` are the number and the image of its links, strongest first; ``guess`` says whether no link is more than a
    guess.
    """

    number: int
    text: str
    end: str
    space: str
    links: tuple[tuple[int, int], ...]
    note: str
    guess: bool


@dataclass(frozen=True, slots=True)
class _Figure:
    """An image on the page.

    Attributes:
        number: Its index in the document; the template has the number for readers (``numbers``, from 1 down the page).
        stays: For a guess that stays where its author put it, the sentence before it, -1 for none; else None.
    """

    number: int
    source: str
    alt: str | None
    caption: str | None
    note: str
    embedded: Embedded
    repeats: int | None
    carried: str
    guess: bool
    stays: int | None


@dataclass(frozen=True, slots=True)
class _Passage:
    """A block of sentences, and the images after it."""

    kind: Kind
    spans: tuple[_Span, ...]
    figures: tuple[_Figure, ...]


def reading_page(
    linked: LinkedDocument,
    *,
    index: str | None = None,
    leads: Mapping[str, str] = MappingProxyType({}),
    embedded: Mapping[int, Embedded] | None = None,
    correct: str | None = None,
) -> str:
    """Return the reading view of a document, as an HTML page.

    Args:
        linked: The document; the files of its images are read. For an image that cannot be read the page says why.
        index: Address of the page that lists this and others, or None.
        leads: Name to address of other pages about this document.
        embedded: The images of ``shown_images``, if already embedded, or their addresses; None to embed them now.
        correct: Address, but for the number of a picture, where a reader says to which sentences it belongs; or None.
    """
    document = linked.document
    by_image = links_by_image(linked)
    if embedded is None:
        embedded = embed_shown(document)
    flow = blocks(document.sentences)
    after = images_after(document, flow, {image: links[0] for image, links in by_image.items()})
    unlinked = [image for image in range(len(document.images)) if image not in by_image]
    number_of = {image: number for number, image in enumerate((*chain.from_iterable(after.values()), *unlinked), 1)}
    figures = _figures(linked, by_image, embedded, _guesses(flow, after, by_image))
    spans = _spans(linked, number_of)
    passages = [
        _Passage(block.kind, tuple(spans[i] for i in block.sentences), tuple(figures[i] for i in after.get(n, [])))
        for n, block in enumerate(flow)
    ]
    heading = passages.pop(0) if flow and _is_title(linked, flow[0]) else None
    explained = explanation_data(linked)
    has_words = any(image.lines for image in document.images)
    parts = ["reading", *(["written"] if has_words else []), *(["explanation"] if explained else [])]
    return filled(
        PACKAGE,
        "reading.html",
        title=readable(title(document)),
        styles=[f"{part}.css" for part in parts],
        scripts=[f"{part}.js" for part in parts],
        heading=heading,
        first=_Passage("paragraph", (), tuple(figures[i] for i in after.get(-1, []))),
        contents=_contents(linked.document, [passage for passage in passages if passage.kind == "heading"]),
        numbers=number_of,
        most=PICTURES_OF_A_SENTENCE,
        hues=HUES,
        address=readable(document.meta.get("address", "")),
        notes=list(map(readable, linked.notes)),
        habit=linked.habit,
        language=document.language,
        direction="rtl" if document.language in _RIGHT_TO_LEFT else "ltr",
        runs=[(kind, list(run)) for kind, run in groupby(passages, key=lambda passage: passage.kind)],
        left=[(figures[i], readable(_why_unlinked(linked, i))) for i in unlinked],
        sentences=len(document.sentences),
        pictures=len(document.images),
        links=len(linked.links),
        model=readable(linked.model),
        index=index,
        leads=leads,
        measured=measured_at(0.0, _kinds(linked)),
        data=_data(linked, explained, number_of, correct),
        explained=bool(explained),
        beside=any(picture.uri and not picture.uri.startswith("data:") for picture in embedded.values()),
    )


def _guesses(
    flow: Sequence[Block], after: Mapping[int, list[int]], by_image: Mapping[int, list[Link]]
) -> dict[int, int]:
    """The images whose strongest link is a guess, each with the sentence before its place; -1 for none."""
    return {
        image: flow[block].sentences[-1] if block >= 0 else -1
        for block, images in after.items()
        for image in images
        if is_guess(by_image[image][0])
    }


def shown_images(document: Document) -> list[int]:
    """Return the numbers of the images on the page of a document, linked or not."""
    return [i for i, image in enumerate(document.images) if image.problem is None]


def embed_shown(document: Document) -> dict[int, Embedded]:
    """Embed the images of ``shown_images``, as small as a page of many images needs them."""
    return embed(document.images, shown_images(document), longer_side=PAGE_SIDE, small=True)


def notebook_frame(linked: LinkedDocument) -> str:
    """Return the reading view for a notebook, in a frame that isolates it from the notebook."""
    return (
        f'<iframe srcdoc="{escape(reading_page(linked))}" sandbox="allow-scripts" title="Linked document" '
        'style="width: 100%; height: 40em; border: 1px solid #8888"></iframe>'
    )


def write_pages(documents: Iterable[LinkedDocument], path: Path, *, force: bool, explained: bool) -> None:
    """Write the page of the only document, over an unchanged one of iconotext; explanations that exist are shown."""
    for linked in documents:
        write_text(path, sealed(reading_page(linked)), force=force or is_untouched(path))


def _is_title(linked: LinkedDocument, block: Block) -> bool:
    texts = [linked.document.sentences[i].text for i in block.sentences]
    return block.kind == "heading" and " ".join(texts) == linked.document.title


def _contents(document: Document, headings: Sequence[_Passage]) -> list[tuple[int, int, str]]:
    """Return level (0 for the highest), first sentence and text of each heading; nothing for a short document."""
    if len(headings) < CONTENTS:
        return []
    levels = [document.sentences[heading.spans[0].number].level or 0 for heading in headings]
    texts = ["".join(f"{span.text}{span.end}{span.space}" for span in heading.spans).strip() for heading in headings]
    return [
        (min(level - min(levels), DEEPEST), heading.spans[0].number, text)
        for level, heading, text in zip(levels, headings, texts, strict=True)
    ]


def _spans(linked: LinkedDocument, number_of: Mapping[int, int]) -> list[_Span]:
    of_sentence: dict[int, list[tuple[int, Link]]] = {}
    for index, link in enumerate(linked.links):
        of_sentence.setdefault(link.sentence, []).append((index, link))
    spans = []
    for number, sentence in enumerate(linked.document.sentences):
        links = of_sentence.get(number, [])
        note = ", ".join(
            f"picture {number_of[link.image]} ({_by(linked, link.image) or percent(link.confidence)})"
            f"{_carried(linked, link)}"
            for _, link in links
        )
        text = readable(sentence.text)
        cut = _last_word(text)
        spans.append(
            _Span(
                number=number,
                text=text[:cut],
                end=text[cut:],
                space=space_after(text),
                links=tuple((index, link.image) for index, link in links),
                note=note,
                guess=all(is_guess(link) for _, link in links),
            )
        )
    return spans


def _carried(linked: LinkedDocument, link: Link) -> str:
    words = readable(carried_by(linked.document.sentences[link.sentence].text, link.explanation))
    return f", carried by: {words}" if words else ""


def _last_word(text: str) -> int:
    """Return the beginning of the last word; for a very long word, of its last character."""
    start = text.rfind(" ") + 1
    return start if len(text) - start <= LONGEST_WORD else len(text) - 1


def _figures(
    linked: LinkedDocument,
    by_image: dict[int, list[Link]],
    embedded: Mapping[int, Embedded],
    guesses: Mapping[int, int],
) -> list[_Figure]:
    first: dict[str, int] = {}
    figures = []
    for number, image in enumerate(linked.document.images):
        picture = embedded.get(number) or Embedded(None, problem=image.problem)
        # A repeated image is in the file only once: the script shows the first one's data in both places.
        original = number if picture.digest is None else first.setdefault(picture.digest, number)
        figures.append(
            _Figure(
                number=number,
                source=shown_source(image.source),
                alt=_readable(image.alt),
                caption=_readable(image.caption),
                note=_note(by_image.get(number, []), _by(linked, number)),
                embedded=picture,
                repeats=None if original == number else original,
                carried=_carried(linked, by_image[number][0]) if number in by_image else "",
                guess=number in guesses,
                stays=guesses[number] if number in guesses and image.position is not None else None,
            )
        )
    return figures


def _by(linked: LinkedDocument, image: int) -> str:
    """Return who chose the sentences of an image; "" if the model did."""
    return f"chosen by {', '.join(map(readable, linked.chosen[image]))}" if image in linked.chosen else ""


def _why_unlinked(linked: LinkedDocument, image: int) -> str:
    by = _by(linked, image)
    return f"None of the sentences, {by}" if by else unlinked_reason(linked.document.images[image])


def _note(links: list[Link], by: str) -> str:
    if not links:
        return "not linked"
    if by:
        return f"{counted(len(links), 'sentence')}, {by}"
    count = f"{len(links)} sentences, up to" if len(links) > 1 else "1 sentence,"
    guess = "a guess: " if is_guess(links[0]) else ""
    return f"{guess}{count} {percent(max(link.confidence for link in links))}"


def _readable(text: str | None) -> str | None:
    return readable(text) if text else None


def _data(linked: LinkedDocument, explained: dict[str, Any], number_of: Mapping[int, int], correct: str | None) -> str:
    """Return data for the script, as JSON that cannot end its HTML element."""
    kinds = _kinds(linked)
    data: dict[str, Any] = {
        "kinds": kinds,
        "links": [
            [
                link.sentence,
                link.image,
                *map(_finite, (link.score, link.confidence, link.paragraph_confidence)),
                _weights(link, kinds),
            ]
            for link in linked.links
        ],
        "images": [
            {
                "number": number_of[number],
                "source": shown_source(image.source),
                "alt": _readable(image.alt),
                "caption": _readable(image.caption),
                "page": image.page,
                **({"by": by} if (by := _by(linked, number)) else {}),
                **({"lines": [[readable(line.text), *line.box] for line in image.lines]} if image.lines else {}),
            }
            for number, image in enumerate(linked.document.images)
        ],
        "measured": [[round(100 * row.at_least), row.words] for row in measured_for(kinds)],
        **({"correct": correct} if correct else {}),
        **explained,
        **relation_data(linked),
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _kinds(linked: LinkedDocument) -> list[Evidence]:
    return [kind for kind in evidence_names() if any(kind in link.evidence for link in linked.links)]


def _weights(link: Link, kinds: Sequence[Evidence]) -> list[float]:
    return [_finite(link.evidence.get(kind, 0.0)) for kind in kinds]


def _finite(value: float) -> float:
    """Return a number with four digits, enough for drawing; 0 if it is not finite."""
    return float(f"{value:.4g}") if abs(value) < float("inf") else 0.0
