"""Drafts of alternative texts: their record, the choice of pictures that need one, and reading drafts from JSON.

A vision model makes them (``iconotext.alt_text.captioned``), or somebody writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from iconotext.check.language import sentences
from iconotext.errors import SettingError
from iconotext.evidence.labels import unlabelled
from iconotext.excerpts import Quote
from iconotext.plain_text import readable
from iconotext.system.strict_json import parse_json
from iconotext.types import Image, LinkedDocument

MAX_TEXT = 2_000
"""Maximum length, in characters, of a text that somebody wrote instead of a draft."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal for a picture's alternative text, to be accepted, changed or dropped.

    Attributes:
        id: Unique within a run: the document and the number of the picture, ``article:3``.
        sha256: Of the file, so that the draft is not written into another version of it; None if unknown.
        source: The picture's address, as in the document.
        draft: True until somebody has reviewed it.
        confidence: Probability, 0 to 1, that the most probable of the sentences belongs to the picture.
        sentences: The sentences that the model was given, with their places; the most probable ones first.
        caption: The caption that the model was given.
        model: The vision model that wrote it; None in a draft that was read from JSON, which anybody may have written.
    """

    id: str
    path: str
    sha256: str | None
    image: int
    source: str
    text: str
    draft: bool
    confidence: float
    sentences: tuple[Quote, ...]
    caption: str | None = None
    model: str | None = None


def is_without_alt(image: Image) -> bool:
    """Return whether a picture can be seen, is not decoration, and has no alternative text."""
    return image.problem is None and not image.decorative and not (image.alt or "").strip()


def present_texts(linked: LinkedDocument) -> Iterator[str]:
    """Yield the texts of a document that a draft must not repeat: captions and sentences."""
    for image in linked.document.images:
        if image.caption:
            yield from sentences([image.caption, unlabelled(image.caption)])
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


_TYPES: dict[str, type] = {"id": str, "path": str, "sha256": str, "image": int, "source": str, "text": str}


def _draft(row: Any, where: str) -> Draft:
    if not isinstance(row, dict):
        raise SettingError(f"{where}: not an object with the fields of a draft")
    for name, kind in _TYPES.items():
        if not isinstance(row.get(name), kind) or isinstance(row.get(name), bool):
            raise SettingError(f"{where}: {name!r} is missing, or of a wrong kind")
    text = " ".join(readable(row["text"]).split())
    if not text or len(text) > MAX_TEXT:
        raise SettingError(f"{where}: its text is empty, or longer than {MAX_TEXT:,} characters: take the draft out")
    values = {name: row[name] for name in _TYPES}
    return Draft(**(values | {"text": text}), draft=False, confidence=0.0, sentences=())


def row(draft: Draft) -> dict[str, Any]:
    """Return a draft as JSON data."""
    return asdict(draft) | {"confidence": round(draft.confidence, 4)}
