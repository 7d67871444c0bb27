"""A run of the check for a command: its printed lines, its files (SARIF, baseline), and its exit status.

``outcome`` runs it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from iconotext import __version__
from iconotext.alt_text.baseline import read_baseline, write_baseline
from iconotext.alt_text.check import Checked, check
from iconotext.alt_text.rules import RULES, Finding, repository_path, repository_root
from iconotext.alt_text.settings import AltTextSettings
from iconotext.errors import SettingError
from iconotext.plain_text import counted, encodable, json_text, readable
from iconotext.read import Failure, ReadSettings
from iconotext.system.files import write_text


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


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
"""The schema for programs that read the file; nothing is fetched from this address."""

ROOT = "SRCROOT"
FINGERPRINT = "iconotextAltText/v1"


def sarif_log(
    findings: Sequence[Finding], failures: Iterable[Failure], root: Path, *, known: Collection[str] = ()
) -> dict[str, Any]:
    """One run of the check, as a SARIF log.

    Args:
        root: The folder of the repository; addresses of files in it are relative.
        known: Fingerprints of the baseline; these findings are not new.
    """
    names: list[str] = list(RULES)
    failed = [_notification(failure, root) for failure in failures]
    driver = {
        "name": "iconotext alt-text check",
        "semanticVersion": __version__,
        "rules": [
            {
                "id": name,
                "shortDescription": {"text": rule.about},
                "defaultConfiguration": {"level": rule.severity},
            }
            for name, rule in RULES.items()
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder of the repository."}}},
        "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
        "results": [_result(finding, root, names.index(finding.rule), known) for finding in findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, root: Path, number: int, known: Collection[str]) -> dict[str, Any]:
    place = finding.place
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.path, root)}
    if place.line is not None:
        physical["region"] = {"startLine": place.line, "startColumn": place.column, "charOffset": place.at}
    location: dict[str, Any] = {"physicalLocation": physical}
    inside = place.part or (f"page {place.page}" if place.page is not None else None)
    if inside is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": encodable(inside)}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": finding.severity,
        "message": {"text": encodable(f"{finding.source}: {finding.message}")},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "baselineState": "unchanged" if finding.fingerprint in known else "new",
    }


def _notification(failure: Failure, root: Path) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": encodable(str(failure.error))},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(failure.path.as_posix(), root)}}],
    }


def _artifact(path: str, root: Path) -> dict[str, str]:
    within = repository_path(path, root)
    if within is None:
        return {"uri": Path(path).absolute().as_uri()}
    return {"uri": quote(within.encode(errors="surrogateescape")), "uriBaseId": ROOT}


GOOD, FOUND, FAILED = 0, 1, 2
"""Exit status: nothing new, something new, or a document that could not be read."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes:
        printed: Text for standard output.
        told: Messages for the user, a line each.
        status: Exit status, see ``GOOD``.
    """

    printed: str
    told: tuple[str, ...]
    status: int


def outcome(
    paths: Sequence[str],
    settings: AltTextSettings,
    reading: ReadSettings,
    *,
    as_json: bool = False,
    sarif: Path | None = None,
    baseline: Path | None = None,
    make_baseline: bool = False,
) -> Outcome:
    """Check documents, and write the requested files.

    Args:
        as_json: Whether to print findings as JSON.
        sarif: File for the findings as SARIF; replaces an existing file.
        baseline: The baseline file.
        make_baseline: Whether to write the findings as the baseline, so that none is new.

    Raises:
        IconotextError: There are no documents, the baseline cannot be read, or something cannot be written.
    """
    if make_baseline and baseline is None:
        raise SettingError("a baseline is to be written, and no file is named for it: which one?")
    known: frozenset[str] = frozenset()
    if baseline is not None and not make_baseline:
        known = read_baseline(baseline)
    checked, root = check(paths, settings, reading), repository_root()
    if make_baseline and baseline is not None:
        write_baseline(checked.findings, baseline, root)
        known = frozenset(finding.fingerprint for finding in checked.findings)
    if sarif is not None:
        log = sarif_log(checked.findings, checked.failures, root, known=known)
        write_text(sarif, json.dumps(log, indent=1) + "\n", force=True)
    new = tuple(finding for finding in checked.findings if finding.fingerprint not in known)
    if as_json:
        rows = [asdict(finding) | {"new": finding.fingerprint not in known} for finding in checked.findings]
        printed = json_text(rows)
    else:
        printed = "\n".join(finding_lines(new))
    told = [*(str(failure.error) for failure in checked.failures), _summary(checked, len(new), len(known) > 0)]
    return Outcome(printed, tuple(told), FAILED if checked.failures else FOUND if new else GOOD)


def _summary(checked: Checked, new: int, known: bool) -> str:
    found = f"{counted(new, 'new finding' if known else 'finding')}"
    if known:
        found += f" and {len(checked.findings) - new:,} known"
    if not checked.pictures and not checked.failures:
        return f"no pictures in {counted(checked.documents, 'document')}: there is nothing to check"
    where = f"{counted(checked.pictures, 'picture')} of {counted(checked.documents, 'document')}"
    unread = f"; {counted(len(checked.failures), 'document')} could not be read" if checked.failures else ""
    return f"{found} in {where}{unread}"
