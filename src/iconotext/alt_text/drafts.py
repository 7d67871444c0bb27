"""Drafts of alternative texts, made from what an author says that a picture shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from iconotext.alt_text.depicted import depicted
from iconotext.alt_text.words import same, sentences, without_label, words
from iconotext.errors import SettingError
from iconotext.excerpts import Quote
from iconotext.plain_text import readable
from iconotext.report.context import Excerpts
from iconotext.types import Image, LinkedDocument

LANGUAGE = "en"
"""The language whose sentences are understood."""

CONFIDENT = 0.5
"""Least confidence of the link between picture and sentence."""

VISIBLE = 0.2
"""Least probability of the relation Visible."""

MAX_TEXT = 2_000
"""Characters of a text that somebody wrote in place of a draft."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal for the alternative text of a picture, for somebody to accept, to change or to drop.

    Attributes:
        id: Names it within a run: the document and the number of the picture, ``article:3``.
        sha256: Of the file, so that nothing is written into another state of it; None where that is not known.
        source: Its address, as the document writes it.
        draft: True until somebody has looked at it.
        confidence: That the sentence it is made from belongs to the picture, 0 to 1.
        visible: Probability that the sentence says what the picture shows.
        sentences: What it is made from, and where that stands.
    """

    id: str
    path: str
    sha256: str | None
    image: int
    source: str
    text: str
    draft: bool
    confidence: float
    visible: float
    sentences: tuple[Quote, ...]


def make_drafts(linked: LinkedDocument, sha256: str | None = None) -> list[Draft]:
    """The drafts for the pictures of a document that have no alternative text, in the order of the pictures.

    Most have none: only a sentence that says outright what a picture shows makes one (``depicted``), for the one
    picture that it belongs to most. What repeats a caption, a sentence or another alternative text is left out.

    Args:
        linked: The document; its links with their relations. In another language than English there are no drafts.
        sha256: Of its file; see ``Draft``.
    """
    document = linked.document
    if document.language != LANGUAGE:
        return []
    found: dict[int, tuple[float, int, str, float]] = {}
    taken: set[int] = set()
    texts = {sentence: depicted(document.sentences[sentence].text) for sentence in {k.sentence for k in linked.links}}
    for link in sorted(linked.links, key=lambda link: (-link.confidence, link.image, link.sentence)):
        visible = (link.relations or {}).get("Visible", 0.0)
        text = texts[link.sentence]
        if text is None or link.sentence in taken:
            continue
        taken.add(link.sentence)  # by the picture that it belongs to most, whether that needs it or not
        wanted = is_without_alt(document.images[link.image]) and link.image not in found
        if wanted and link.confidence >= CONFIDENT and visible >= VISIBLE:
            found[link.image] = (link.confidence, link.sentence, text, visible)
    if not found:
        return []
    said = [words(each) for each in _said(linked)]
    excerpts = Excerpts(linked)
    drafts = []
    for image, (confidence, sentence, text, visible) in sorted(found.items()):
        own = words(text)
        if any(same(own, other) for other in said):
            continue
        said.append(own)
        source = document.images[image].source
        quote = excerpts.quote(sentence, image)
        quoted = Quote(**{each.name: getattr(quote, each.name) for each in fields(Quote)})
        place = document.place or document.id
        name = f"{document.id}:{image}"
        drafts.append(Draft(name, place, sha256, image, source, text, True, confidence, visible, (quoted,)))
    return drafts


def is_without_alt(image: Image) -> bool:
    """Whether a picture can be seen, is more than decoration, and has no alternative text."""
    return image.problem is None and not image.decorative and not (image.alt or "").strip()


def _said(linked: LinkedDocument) -> Iterator[str]:
    """All that an alternative text must not repeat."""
    for image in linked.document.images:
        for text in (image.alt, image.caption, without_label(image.caption or "")):
            yield from sentences([text] if text else [])
    yield from (sentence.text for sentence in linked.document.sentences)


def read_drafts(path: Path) -> list[Draft]:
    """Drafts that were printed as JSON, some of them changed by hand since.

    Raises:
        SettingError: The file is no such JSON; says where.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SettingError(f"{path}: not JSON ({error}): give what the drafts were printed as") from error
    if not isinstance(rows, list):
        raise SettingError(f"{path}: not a list of drafts")
    return [_draft(row, f"{path}, draft {number}") for number, row in enumerate(rows, 1)]


_TYPES: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "path": str,
    "sha256": str,
    "image": int,
    "source": str,
    "text": str,
}


def _draft(row: Any, where: str) -> Draft:
    if not isinstance(row, dict):
        raise SettingError(f"{where}: not an object with the fields of a draft")
    for name, kind in _TYPES.items():
        if not isinstance(row.get(name), kind) or isinstance(row.get(name), bool):
            raise SettingError(f"{where}: {name!r} is missing, or of a wrong kind")
    text = " ".join(readable(row["text"]).split())
    if not text or len(text) > MAX_TEXT:
        raise SettingError(f"{where}: its text is empty, or longer than {MAX_TEXT:,} characters: take the draft out")
    known = {name: row[name] for name in _TYPES}
    return Draft(**(known | {"text": text}), draft=False, confidence=0.0, visible=0.0, sentences=())


def chosen(drafts: Sequence[Draft], ids: Iterable[str]) -> list[Draft]:
    """The drafts with these ids; all where none is named; ``SettingError`` where there is no draft of such an id."""
    wanted = list(ids)
    unknown = sorted(set(wanted) - {draft.id for draft in drafts})
    if unknown:
        raise SettingError(
            f"no draft is called {', '.join(unknown)}; there are {', '.join(d.id for d in drafts) or 'none'}"
        )
    return [draft for draft in drafts if not wanted or draft.id in wanted]


def row(draft: Draft) -> dict[str, Any]:
    """A draft as what ``json.dumps`` takes."""
    return asdict(draft) | {"confidence": round(draft.confidence, 4), "visible": round(draft.visible, 4)}
