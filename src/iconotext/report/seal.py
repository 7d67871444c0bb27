"""A digest in the head of a page, which shows whether the page is still as it was written."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

HEAD = 4096
"""Bytes at the beginning of a page among which its digest stands."""

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
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(HEAD)
            seal = _SEAL.search(head)
            if seal is None:
                return False
            digest = hashlib.sha256(head[: seal.start()] + head[seal.end() :])
            while piece := file.read(2**20):
                digest.update(piece)
    except OSError:
        return False
    return digest.hexdigest().encode() == seal[1]
