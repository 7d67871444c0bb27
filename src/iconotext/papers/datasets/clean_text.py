"""Published texts as a reader sees them."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Mapping


def clean_text(text: str, misread: Mapping[str, str] | None = None) -> str:
    """A text whose HTML entities are characters, with white space collapsed and control characters gone.

    Args:
        misread: What was lost before the table was published, and what it was; mended after the entities.
    """
    text = html.unescape(text)
    for wrong, right in (misread or {}).items():
        text = text.replace(wrong, right)
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)
    return " ".join(text.split())
