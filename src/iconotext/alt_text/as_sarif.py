"""Writes findings as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from iconotext import __version__
from iconotext.alt_text.finding import Finding
from iconotext.alt_text.repository import repository_path
from iconotext.alt_text.rules import RULES
from iconotext.plain_text import encodable
from iconotext.read import Failure

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
