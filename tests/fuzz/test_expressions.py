"""No regular expression of the package takes more than linear time."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest

import iconotext
from tests.fuzz.expressions import attacks, expressions

SOURCE = Path(iconotext.__file__).parent
FOLDERS = ("read", "links", "report")
"""What meets documents of strangers."""
EXCEPTIONS = {
    "links/labels.py": ("_ELSEWHERE_BEFORE", "is looked for in 100 characters"),
}
"""Expressions that may take longer: module, name, reason."""
SIZE = 30_000
SECONDS = 0.25
"""Of this process's own time: hundreds of times what a linear search takes, a tenth of what a quadratic one does."""


class Slow(Exception):
    pass


def is_slow(expression: re.Pattern[Any], text: str, *, searches: bool) -> bool:
    def stop(*_):
        raise Slow

    subject = text if isinstance(expression.pattern, str) else text.encode("utf-8")
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            for _ in expression.finditer(subject) if searches else [expression.match(subject)]:
                pass
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)  # the signal may come here, too: the search has just ended
    except Slow:
        return True
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return False


def slow_text(expression: re.Pattern[Any], *, searches: bool = True) -> str | None:
    texts = attacks(expression, SIZE)
    return next((text for text in texts if is_slow(expression, text, searches=searches)), None)


@pytest.mark.parametrize(
    "text", [r"\s*x", r"(a|a)*b", r"^(\w+\s?)*$", r"<b[^>]*c", r"x.*?y.*?z", r"\s+\s*!", r"(\S*[^\s,])\s*(?:,|$)"]
)
def test_what_takes_long_is_found(text):
    assert slow_text(re.compile(text)) is not None


@pytest.mark.slow
def test_expressions_take_linear_time():
    found = list(expressions(SOURCE, *FOLDERS))
    assert len(found) > 60
    excepted = {(place, name) for place, (name, _) in EXCEPTIONS.items()}
    assert excepted <= {(one.place.split(":")[0], one.name) for one in found}
    slow = {}
    for one in found:
        text = slow_text(one.expression, searches=one.searches)
        if text is not None and one.name != EXCEPTIONS.get(one.place.split(":")[0], ("", ""))[0]:
            slow[one.place] = (one.expression.pattern, text[:40])
    assert slow == {}
