"""Restricts a search to pictures in a folder, or of a period."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from iconotext.errors import SettingError
from iconotext.library.conditions import quoted
from iconotext.scale.store import lasting

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a picture must satisfy.

    Attributes:
        folder: Absolute path; the picture, or a document with it, is in this folder or below.
        since: The picture was taken at this time or later.
        before: The picture was taken before this time; None also for the end of the year 9999.
    """

    folder: str | None = None
    since: datetime | None = None
    before: datetime | None = None

    @property
    def condition(self) -> str | None:
        """The filters as an SQL condition; None if every picture satisfies them."""
        parts = []
        if self.folder is not None:
            parts.append(f"array_has(folders, {quoted(self.folder)})")
        if self.since is not None:
            parts.append(f"date >= TIMESTAMP '{self.since.isoformat(sep=' ')}'")
        if self.before is not None:
            parts.append(f"date < TIMESTAMP '{self.before.isoformat(sep=' ')}'")
        return " AND ".join(parts) or None


def make_filters(folder: Path | None = None, since: str | None = None, until: str | None = None) -> Filters:
    """Make filters from a user's input.

    Args:
        since: A year, month or day (2024, 2024-05, 2024-05-31), counted from its beginning.
        until: The same, counted to its end.

    Raises:
        SettingError: Not a date, or ``until`` ends before ``since`` begins.
    """
    begin = None if since is None else _span(since, "since")[0]
    end = None if until is None else _span(until, "until")[1]
    if begin is not None and end is not None and end <= begin:
        raise SettingError(f"since={since} until={until}: no time lies between them; the earlier date comes first")
    return Filters(None if folder is None else lasting(folder).as_posix(), begin, end)


def _span(text: str, option: str) -> tuple[datetime, datetime | None]:
    """The beginning of a year, month or day, and the end (exclusive); None for the end of the year 9999."""
    found = _DATE.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError
        year, month, day = int(found[1]), found[2], found[3]
        begin = datetime(year, int(month or 1), int(day or 1))
    except ValueError:
        raise SettingError(
            f"{option}={text}: not a date; write a year, month or day: 2024, 2024-05, 2024-05-31"
        ) from None
    try:
        if day:
            return begin, begin + timedelta(days=1)
        if month and begin.month < 12:
            return begin, datetime(year, begin.month + 1, 1)
        return begin, datetime(year + 1, 1, 1)
    except (ValueError, OverflowError):
        return begin, None
