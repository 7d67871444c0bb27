"""Linked documents as pages to read: the text, its pictures beside it, and a thread from each to its sentences.

A page is one file. It asks the network for nothing, and its Content-Security-Policy lets run only the one script that
we wrote; text of the document comes in through Jinja's escaping alone.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.plain_text import percent, readable
from iconotext.report.carried import carried_by
from iconotext.report.embedded import Embedded, embed
from iconotext.report.explained import explained_data
from iconotext.report.flow import Block, blocks, links_by_image, placed, space_after, title, unlinked_reason
from iconotext.report.page import asset, filled, policy_hash
from iconotext.report.related import related_data
from iconotext.report.seal import sealed
from iconotext.types import EVIDENCE, Evidence, Image, Kind, Link, LinkedDocument
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.report.manifest import Record

PACKAGE = "iconotext.report"
"""Where the templates are."""

HUES = 6
"""Colours of the threads, ``hue-0`` to ``hue-5`` in the style sheet; the next picture takes the next one."""

LONGEST_WORD = 16
"""Characters at the end of a sentence that may be kept on one line; a narrow phone shows some 35."""

CARD_SIDE = 360
"""Pixels of the longer side of a picture on the index page."""

_RIGHT_TO_LEFT = {"ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"}


@dataclass(frozen=True, slots=True)
class _Span:
    """A sentence on the page, its end apart; ``images`` and ``hue`` are those of its links, strongest first."""

    number: int
    text: str
    end: str
    space: str
    images: tuple[int, ...]
    hue: int
    note: str


@dataclass(frozen=True, slots=True)
class _Figure:
    """A picture on the page."""

    number: int
    source: str
    alt: str | None
    caption: str | None
    hue: int
    note: str
    embedded: Embedded
    repeats: int | None
    carried: str


@dataclass(frozen=True, slots=True)
class _Passage:
    """A block on the page and the pictures that stand after it."""

    spans: tuple[_Span, ...]
    figures: tuple[_Figure, ...]


def reading_page(linked: LinkedDocument, *, index: str | None = None) -> str:
    """The reading view of one document, a whole HTML page.

    Args:
        linked: The document; its files are read for the pictures. One that cannot be read shows why instead.
        index: Address of the page that lists this one among others, or None.
    """
    document = linked.document
    by_image = links_by_image(linked)
    shown = [i for i, image in enumerate(document.images) if i in by_image or image.problem is None]
    embedded = embed(document.images, shown)
    figures = _figures(linked, by_image, embedded)
    flow = blocks(document.sentences)
    after = placed(flow, {image: links[0] for image, links in by_image.items()})
    spans = _spans(linked)
    passages = [
        (block.kind, _Passage(tuple(spans[i] for i in block.sentences), tuple(figures[i] for i in after.get(n, []))))
        for n, block in enumerate(flow)
    ]
    heading = passages.pop(0)[1] if flow and _is_title(linked, flow[0]) else None
    runs: list[tuple[Kind, list[_Passage]]] = [
        (kind, [passage for _, passage in run]) for kind, run in groupby(passages, key=lambda passage: passage[0])
    ]
    explained = explained_data(linked)
    parts = ("reading", "explanation") if explained else ("reading",)
    script = "".join(asset(PACKAGE, f"{part}.js") for part in parts)
    return _page(
        "reading.html",
        styles=[f"{part}.css" for part in parts],
        title=readable(title(document)),
        heading=heading,
        address=readable(document.meta.get("address", "")),
        language=document.language,
        direction="rtl" if document.language in _RIGHT_TO_LEFT else "ltr",
        runs=runs,
        left=[(figures[i], readable(unlinked_reason(x))) for i, x in enumerate(document.images) if i not in by_image],
        sentences=len(document.sentences),
        pictures=len(document.images),
        links=len(linked.links),
        model=readable(linked.model),
        index=index,
        data=_data(linked, explained),
        explained=bool(explained),
        script=script,
        script_hash=policy_hash(script),
    )


@dataclass(frozen=True, slots=True)
class NotebookView:
    """Something that a notebook shows as HTML."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


def show(linked: LinkedDocument) -> NotebookView:
    """The reading view for a notebook, in a frame of its own: nothing in it reaches the notebook."""
    return NotebookView(
        f'<iframe srcdoc="{escape(reading_page(linked))}" sandbox="allow-scripts" title="Linked document" '
        'style="width: 100%; height: 40em; border: 1px solid #8888"></iframe>'
    )


def index_page(records: Sequence[Record]) -> str:
    """A page that leads to other pages, in the order given."""
    return _page("index.html", styles=["reading.css"], title="Linked documents", cards=records, script_hash=None)


def write_page(linked: LinkedDocument, path: Path, *, force: bool = False) -> None:
    """Write the page of one document.

    Raises:
        OutputError: The file exists and ``force`` is not set, or it cannot be written.
    """
    write_text(path, sealed(reading_page(linked)), force=force)


def card_image(linked: LinkedDocument) -> Embedded | None:
    """The picture with the strongest link, small; None without links."""
    if not linked.links:
        return None
    best = linked.links[0].image
    return embed(linked.document.images, [best], longer_side=CARD_SIDE)[best]


def page_name(identifier: str, taken: set[str], *longer: str) -> str:
    """A file name without suffix for a document, fit for every file system and not yet taken; it is added to those.

    Names that differ only in upper and lower case count as the same, as some file systems see it.

    Args:
        identifier: What the document is called.
        taken: Names that are in use, in lower case.
        longer: Other names for it, to be tried before a number is put behind the first.
    """
    base = _plain(identifier)
    numbered = (f"{base}-{number}" for number in count(2))
    name = next(name for name in chain([base], map(_plain, longer), numbered) if name.casefold() not in taken)
    taken.add(name.casefold())
    return name


def _plain(identifier: str) -> str:
    plain = unicodedata.normalize("NFC", readable(identifier))
    return re.sub(r"[^\w.-]+", "-", plain).strip("-._")[:60].rstrip("-._") or "document"


def _is_title(linked: LinkedDocument, block: Block) -> bool:
    """Whether the document opens with its own title, which the page then shows once."""
    texts = [linked.document.sentences[i].text for i in block.sentences]
    return block.kind == "heading" and " ".join(texts) == linked.document.title


def _spans(linked: LinkedDocument) -> list[_Span]:
    of_sentence: dict[int, list[Link]] = {}
    for link in linked.links:
        of_sentence.setdefault(link.sentence, []).append(link)
    spans = []
    for number, sentence in enumerate(linked.document.sentences):
        links = of_sentence.get(number, [])
        images = tuple(link.image for link in links)
        note = ", ".join(
            f"picture {link.image + 1} ({percent(link.confidence)}){_carried(linked, link)}" for link in links
        )
        text = readable(sentence.text)
        cut = _last_word(text)
        hue = images[0] % HUES if images else 0
        spans.append(_Span(number, text[:cut], text[cut:], space_after(text), images, hue, note))
    return spans


def _carried(linked: LinkedDocument, link: Link) -> str:
    words = readable(carried_by(linked.document.sentences[link.sentence].text, link.explanation))
    return f", carried by: {words}" if words else ""


def _last_word(text: str) -> int:
    """Where the last word begins, to which the number of the picture clings; a very long one may break before it."""
    start = text.rfind(" ") + 1
    return start if len(text) - start <= LONGEST_WORD else len(text) - 1


def _figures(linked: LinkedDocument, by_image: dict[int, list[Link]], embedded: dict[int, Embedded]) -> list[_Figure]:
    first: dict[str, int] = {}
    figures = []
    for number, image in enumerate(linked.document.images):
        picture = embedded.get(number) or Embedded(None, problem=image.problem)
        # The same picture twice is in the file once: the script shows the first one's data in the second's place.
        original = number if picture.digest is None else first.setdefault(picture.digest, number)
        figures.append(
            _Figure(
                number=number,
                source=_shown_source(image),
                alt=_readable(image.alt),
                caption=_readable(image.caption),
                hue=number % HUES,
                note=_note(by_image.get(number, [])),
                embedded=picture,
                repeats=None if original == number else original,
                carried=_carried(linked, by_image[number][0]) if number in by_image else "",
            )
        )
    return figures


def _note(links: list[Link]) -> str:
    if not links:
        return "not linked"
    count = f"{len(links)} sentences, up to" if len(links) > 1 else "1 sentence,"
    return f"{count} {percent(max(link.confidence for link in links))}"


def _shown_source(image: Image) -> str:
    return "a picture within the document" if image.source.startswith("data:") else readable(image.source)


def _readable(text: str | None) -> str | None:
    return readable(text) if text else None


def _data(linked: LinkedDocument, explained: dict[str, Any]) -> str:
    """What the script needs to know, as JSON that cannot end the element it stands in."""
    kinds = [kind for kind in EVIDENCE if any(kind in link.evidence for link in linked.links)]
    data: dict[str, Any] = {
        "kinds": kinds,
        "links": [
            [link.sentence, link.image, *map(_finite, (link.score, link.confidence)), _weights(link, kinds)]
            for link in linked.links
        ],
        "images": [
            {
                "source": _shown_source(image),
                "alt": _readable(image.alt),
                "caption": _readable(image.caption),
                "page": image.page,
            }
            for image in linked.document.images
        ],
        **explained,
        **related_data(linked),
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _weights(link: Link, kinds: Sequence[Evidence]) -> list[float]:
    return [_finite(link.evidence.get(kind, 0.0)) for kind in kinds]


def _finite(value: float) -> float:
    """Four digits are more than a thread can show; what is not a number shows as nothing."""
    return float(f"{value:.4g}") if abs(value) < float("inf") else 0.0


def _page(template: str, *, styles: Sequence[str], **context: object) -> str:
    return filled(PACKAGE, template, style=styles, **context)
