"""Describes promises in words."""

from __future__ import annotations

from collections.abc import Iterable

from iconotext.plain_text import counted, percent
from iconotext.types import Claim, Promise

_WRONG: dict[Claim, tuple[str, str]] = {
    "document": ("picture of another document", "show a picture of another document"),
    "paragraph": ("figure whose paragraph is known", "lead to a wrong paragraph"),
    "sentence": ("figure whose sentence is known", "lead to a wrong sentence"),
}
"""What it was tested on, and what is wrong with links that break the promise."""


def promise_lines(promises: Iterable[Promise], pictures: int | None = None) -> list[str]:
    """A line for each claim: what is promised for how many pictures, or why nothing is.

    Args:
        pictures: Number in the document that the lines stand in; lines about more say "of all documents".
    """
    return [_line(promise, pictures) for promise in promises]


def strongest_promise(promises: Iterable[Promise], pictures: int | None = None) -> str | None:
    """A short text about the strongest claim that some picture passed; None if there is none. See ``promise_lines``."""
    kept = [promise for promise in promises if promise.kept]
    return _said(kept[-1], pictures) if kept else None


def _line(promise: Promise, pictures: int | None) -> str:
    if not promise.tested:
        return f"Right {promise.claim}: no promise, {promise.refused or 'there are no pictures'}"
    left = f"; {promise.untested:,} not tested, {promise.refused}" if promise.untested else ""
    thing, _, rest = _WRONG[promise.claim][0].partition(" ")
    return f"{_said(promise, pictures)} (tested on {counted(promise.calibration, thing)} {rest}){left}"


def _said(promise: Promise, pictures: int | None) -> str:
    whose = " of all documents" if pictures is not None and promise.tested > pictures else ""
    passed = f"{promise.kept:,} of {counted(promise.tested, 'picture')}{whose} have a link that is sure enough"
    wrong = f"of such links, at most {percent(promise.max_false)} {_WRONG[promise.claim][1]}"
    wrong += ", counted over all collections" * (promise.collections > 1)
    return f"Right {promise.claim}: {passed}{f'; {wrong}' if promise.kept else ''}"
