"""Prints findings for people: by document, one per line, in the form that editors and terminals turn into links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from iconotext.alt_text.finding import Finding
from iconotext.plain_text import readable


def finding_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """The lines, with an empty line between documents; each has place, kind and message of a finding."""
    for number, (path, group) in enumerate(groupby(findings, key=lambda finding: finding.place.path)):
        if number:
            yield ""
        yield readable(path)
        yield from _aligned([(_where(each), each.severity, each.rule, readable(each.message)) for each in group])


def _where(finding: Finding) -> str:
    """``12:3``; for a document without lines, its part and the picture."""
    place = finding.place
    if place.line is not None:
        return f"{place.line}:{place.column}"
    return readable(" ".join(filter(None, [place.part, finding.source])))


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for where, severity, rule, message in rows:
        yield f"  {where:>{widths[0]}}  {severity:<{widths[1]}}  {rule:<{widths[2]}}  {message}"
