"""The baseline: a file of known findings that are left for later, so that only new ones fail a check."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from iconotext.alt_text.rules import Finding, repository_path
from iconotext.errors import SettingError
from iconotext.plain_text import encodable
from iconotext.system.files import write_text
from iconotext.system.strict_json import parse_json

VERSION = 1
MAX_BYTES = 64 * 2**20


def read_baseline(path: Path) -> frozenset[str]:
    """The fingerprints of the findings in a baseline.

    Raises:
        SettingError: The file cannot be read, or is not from ``write_baseline``.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SettingError(f"{path}: too large for a baseline: write it anew")
        read: Any = parse_json(path.read_text(encoding="utf-8"))
        if read["version"] != VERSION:
            raise SettingError(f"{path}: a baseline of another version of iconotext: write it anew")
        found = [each["fingerprint"] for each in read["findings"]]
    except FileNotFoundError as error:
        raise SettingError(f"{path}: no such baseline: write it first") from error
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SettingError(f"{path}: no baseline of alternative texts: write it anew") from error
    if not all(isinstance(each, str) for each in found):
        raise SettingError(f"{path}: no baseline of alternative texts: write it anew")
    return frozenset(found)


def write_baseline(findings: Iterable[Finding], path: Path, root: Path) -> None:
    """Write findings as a baseline, one per line so that changes are easy to read; replaces an old one.

    Raises:
        OutputError: It cannot be written.
    """
    rows = [
        {
            "path": encodable(repository_path(each.place.path, root) or each.place.path),
            "rule": each.rule,
            "picture": encodable(each.source),
            "fingerprint": each.fingerprint,
        }
        for each in findings
    ]
    rows.sort(key=lambda row: (row["path"], row["rule"], row["picture"], row["fingerprint"]))
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    write_text(path, f'{{"version": {VERSION}, "findings": [\n{lines}\n]}}\n', force=True)
