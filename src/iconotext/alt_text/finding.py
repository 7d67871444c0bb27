"""What is wrong with the alternative text of one picture, and a name for it that outlives other changes of the file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from iconotext.alt_text.picture import Place
from iconotext.alt_text.repository import repository_path
from iconotext.alt_text.rules import Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a picture breaks.

    Attributes:
        message: What is wrong and what to do.
        alt: Its alternative text; None where there is none.
        fingerprint: The same as long as document, rule, picture and text are, wherever in the document the picture
            stands; "" before ``fingerprinted``.
    """

    rule: str
    severity: Severity
    message: str
    place: Place
    source: str
    alt: str | None
    fingerprint: str = ""


def fingerprinted(findings: Iterable[Finding], root: Path) -> Iterator[Finding]:
    """Give each finding its fingerprint; findings that are alike in all of that are numbered in reading order.

    Args:
        root: The folder from which on the documents' paths count.
    """
    seen: Counter[str] = Counter()
    for finding in findings:
        path = repository_path(finding.place.path, root) or finding.place.path
        parts = (path, finding.place.part, finding.rule, finding.source, finding.alt)
        like = hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()[:24]
        seen[like] += 1
        yield replace(finding, fingerprint=f"{like}/{seen[like]}")
