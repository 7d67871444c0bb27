"""A problem of a picture's alternative text, with a fingerprint that survives other changes of the file."""

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
    """A rule that a picture violates.

    Attributes:
        message: What is wrong, and what to do.
        alt: Its alternative text; None without one.
        fingerprint: Depends on document, rule, picture and text, but not on the place in the document; "" before
            ``fingerprinted``.
    """

    rule: str
    severity: Severity
    message: str
    place: Place
    source: str
    alt: str | None
    fingerprint: str = ""


def fingerprinted(findings: Iterable[Finding], root: Path) -> Iterator[Finding]:
    """Set the fingerprints of findings; findings that are otherwise equal are numbered in reading order.

    Args:
        root: The folder to which the documents' paths are relative.
    """
    seen: Counter[str] = Counter()
    for finding in findings:
        path = repository_path(finding.place.path, root) or finding.place.path
        parts = (path, finding.place.part, finding.rule, finding.source, finding.alt)
        like = hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()[:24]
        seen[like] += 1
        yield replace(finding, fingerprint=f"{like}/{seen[like]}")
