"""What annotators answered, and texts as annotators saw them."""

from __future__ import annotations

import html
import unicodedata

YES = frozenset({"true", "yes", "y", "t", "1", "1.0"})
NO = frozenset({"false", "no", "n", "f", "0", "0.0"})
NONE = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})

MISREAD = {"\\t": " ", "\\u0019": "’", "†": " ", "∞": "°"}
"""Characters that were lost on the way to the published files: a tabulator and an apostrophe that were written as
escapes, and a no-break space and a degree sign whose Mac Roman bytes were read as if they were others."""


def parse_answer(text: str) -> bool | None:
    """Yes, no, or None where there is no answer.

    Raises:
        ValueError: It is none of them.
    """
    word = text.strip().casefold()
    if word in YES:
        return True
    if word in NO:
        return False
    if word in NONE:
        return None
    raise ValueError(text)


def clean_text(text: str, *, misread: bool = False) -> str:
    """A text as a reader sees it: HTML entities are characters, white space is collapsed, control characters are gone.

    Args:
        text: As published.
        misread: Also mend ``MISREAD``.
    """
    text = html.unescape(text)
    for wrong, right in MISREAD.items() if misread else ():
        text = text.replace(wrong, right)
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(character) in ("Cc", "Cs") else character for character in text)
    return " ".join(text.split())
