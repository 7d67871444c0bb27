"""Drafts of alternative texts, made from the author's own sentences about what a picture shows."""

from __future__ import annotations

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
from iconotext.strict_json import parse_json
from iconotext.types import Image, LinkedDocument

LANGUAGE = "en"
"""The only language for which drafts are made."""

CONFIDENT = 0.5
"""Smallest confidence of the link between picture and sentence."""

VISIBLE = 0.2
"""Smallest probability of the relation Visible."""

MAX_TEXT = 2_000
"""Maximum length of a text that somebody wrote instead of a draft."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal for a picture's alternative text, to be accepted, changed or dropped.

    Attributes:
        id: Unique within a run: the document and the number of the picture, ``article:3``.
        sha256: Of the file, so that the draft is not written into another version of it; None if unknown.
        source: The picture's address, as in the document.
        draft: True until somebody has reviewed it.
        confidence: Probability, 0 to 1, that the sentence belongs to the picture.
        visible: Probability that the sentence says what the picture shows.
        sentences: The sentences from which it is made, with their places.
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
    """The drafts for the pictures of a document without alternative text, in order.

    Most pictures get none: a draft needs a sentence that states what a picture shows (``depicted``), and is made only
    for the picture to which the sentence belongs most. Drafts that repeat a caption, a sentence or another alternative
    text are dropped.

    Args:
        linked: The document, with links and their relations. There are drafts only for English documents.
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
        taken.add(link.sentence)  # used up, even if its picture needs no draft
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
    """Whether a picture can be seen, is not decoration, and has no alternative text."""
    return image.problem is None and not image.decorative and not (image.alt or "").strip()


def _said(linked: LinkedDocument) -> Iterator[str]:
    """Texts that an alternative text must not repeat."""
    for image in linked.document.images:
        for text in (image.alt, image.caption, without_label(image.caption or "")):
            yield from sentences([text] if text else [])
    yield from (sentence.text for sentence in linked.document.sentences)


def read_drafts(path: Path) -> list[Draft]:
    """Read drafts that were printed as JSON, and may have been edited.

    Raises:
        SettingError: The file is not such JSON; the message says where.
    """
    try:
        rows = parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SettingError(f"{path}: {error}: give what the drafts were printed as") from error
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
    """The drafts with these ids; all if there are no ids; ``SettingError`` for an unknown id."""
    wanted = list(ids)
    unknown = sorted(set(wanted) - {draft.id for draft in drafts})
    if unknown:
        raise SettingError(
            f"no draft is called {', '.join(unknown)}; there are {', '.join(d.id for d in drafts) or 'none'}"
        )
    return [draft for draft in drafts if not wanted or draft.id in wanted]


def row(draft: Draft) -> dict[str, Any]:
    """A draft as JSON data."""
    return asdict(draft) | {"confidence": round(draft.confidence, 4), "visible": round(draft.visible, 4)}
