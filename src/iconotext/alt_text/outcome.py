"""A run of the check for a command: its output, its files, and its exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from iconotext.alt_text.as_lines import finding_lines
from iconotext.alt_text.as_sarif import sarif_log
from iconotext.alt_text.baseline import read_baseline, write_baseline
from iconotext.alt_text.check import Checked, check
from iconotext.alt_text.repository import repository_root
from iconotext.alt_text.settings import AltTextSettings
from iconotext.errors import SettingError
from iconotext.plain_text import counted, json_text
from iconotext.read import ReadSettings
from iconotext.write import write_text

GOOD, FOUND, FAILED = 0, 1, 2
"""Exit status: nothing new, something new, or a document that could not be read."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes:
        printed: For standard output.
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
