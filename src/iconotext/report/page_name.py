"""File names for pages, made of what their documents are called."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain, count

from iconotext.plain_text import readable

LONGEST = 60
"""Characters of a name."""


def page_name(identifier: str, taken: set[str], *longer: str) -> str:
    """A file name without suffix that every file system accepts and that is not taken; it is added to ``taken``.

    Names that differ only in upper and lower case count as the same, as some file systems see it.

    Args:
        identifier: What the document is called.
        taken: Names that are in use, in lower case.
        longer: Other names for it, tried in order before a number is put behind the first one.
    """
    base = _plain(identifier)
    numbered = (f"{base}-{number}" for number in count(2))
    name = next(name for name in chain([base], map(_plain, longer), numbered) if name.casefold() not in taken)
    taken.add(name.casefold())
    return name


def _plain(identifier: str) -> str:
    plain = unicodedata.normalize("NFC", readable(identifier))
    return re.sub(r"[^\w.-]+", "-", plain).strip("-._")[:LONGEST].rstrip("-._") or "document"
