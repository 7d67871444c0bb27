"""Describes promises in words."""

from __future__ import annotations

from collections.abc import Iterable

from iconotext.plain_text import counted, percent
from iconotext.types import Claim, Promise

_WRONG: dict[Claim, tuple[str, str]] = {
    "document": ("decoy", "belong to another document"),
    "paragraph": ("calibration figure", "lead to a wrong paragraph"),
    "sentence": ("calibration figure", "lead to a wrong sentence"),
}
"""What the promise is based on, and what is wrong with links that break it."""


def promise_lines(promises: Iterable[Promise]) -> list[str]:
    """A line for each claim: what is promised for how many pictures, or why nothing is."""
    return [_line(promise) for promise in promises]


def strongest_promise(promises: Iterable[Promise]) -> str | None:
    """A short text about the strongest claim that some picture passed; None if there is none."""
    kept = [promise for promise in promises if promise.kept]
    return _said(kept[-1]) if kept else None


def _line(promise: Promise) -> str:
    if not promise.tested:
        return f"Right {promise.claim}: no promise, {promise.refused or 'there are no pictures'}"
    left = f"; {promise.untested:,} not tested, {promise.refused}" if promise.untested else ""
    return f"{_said(promise)} (promise from {counted(promise.calibration, _WRONG[promise.claim][0])}){left}"


def _said(promise: Promise) -> str:
    kept = f"{promise.kept:,} of {counted(promise.tested, 'picture')} linked together"
    wrong = f"at most {percent(promise.max_false)} of them {_WRONG[promise.claim][1]}"
    wrong += ", all collections together" * (promise.collections > 1)
    return f"Right {promise.claim}: {kept}, {wrong if promise.kept else 'none is sure enough'}"
