"""What is promised of links, in words."""

from __future__ import annotations

from collections.abc import Iterable

from iconotext.plain_text import counted, percent
from iconotext.types import Claim, Promise

_WRONG: dict[Claim, tuple[str, str]] = {
    "document": ("decoy", "belong to another document"),
    "paragraph": ("calibration figure", "lead to a wrong paragraph"),
    "sentence": ("calibration figure", "lead to a wrong sentence"),
}
"""What the promise is made from, and what is false of those that break it."""


def promise_lines(promises: Iterable[Promise]) -> list[str]:
    """A line for each claim: what is promised of how many pictures, or why nothing is."""
    return [_line(promise) for promise in promises]


def _line(promise: Promise) -> str:
    thing, wrong = _WRONG[promise.claim]
    head = f"Right {promise.claim}: "
    if not promise.tested:
        return f"{head}no promise, {promise.refused or 'there are no pictures'}"
    kept = f"{promise.kept:,} of {counted(promise.tested, 'picture')} of this run"
    share = f"at most {percent(promise.max_false)} of them {wrong}" if promise.kept else "none is sure enough"
    left = f"; {promise.untested:,} not tested, {promise.refused}" if promise.untested else ""
    return f"{head}{kept}, {share} (promise from {counted(promise.calibration, thing)}){left}"
