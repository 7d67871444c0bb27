"""Pages that say of themselves whether they are still as they were written."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_GENERATOR = '<meta name="generator" content="iconotext">\n'
_SEAL = re.compile(rb'<meta name="iconotext-sha256" content="([0-9a-f]{64})">\n')


def sealed(page: str) -> str:
    """The page with a digest in its head of everything else in it."""
    digest = hashlib.sha256(page.encode()).hexdigest()
    head, generator, rest = page.partition(_GENERATOR)
    return f'{head}{generator}<meta name="iconotext-sha256" content="{digest}">\n{rest}'


def is_untouched(path: Path) -> bool:
    """Whether a file is a page that we wrote and that nobody changed since: one that may be replaced or removed."""
    try:
        page = path.read_bytes()
    except OSError:
        return False
    seal = _SEAL.search(page, 0, 4096)
    if seal is None:
        return False
    return hashlib.sha256(page[: seal.start()] + page[seal.end() :]).hexdigest().encode() == seal[1]
