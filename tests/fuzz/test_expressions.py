"""No regular expression of the package takes more than linear time."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

import iconotext
from tests.fuzz.expressions import attacks, expressions

SOURCE = Path(iconotext.__file__).parent
SIZE = 100_000
SECONDS = 1.0
"""Of this process's own time: hundreds of times what a linear search takes, a tenth of what a quadratic one does."""


class Slow(Exception):
    pass


def is_slow(expression: re.Pattern, text: str) -> bool:
    def stop(*_):
        raise Slow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        subject = text if isinstance(expression.pattern, str) else text.encode("utf-8")
        for _ in expression.finditer(subject):
            pass
        return False
    except Slow:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def slow_text(expression: re.Pattern, size: int = SIZE) -> str | None:
    return next((text for text in attacks(expression, size) if is_slow(expression, text)), None)


@pytest.mark.parametrize("text", [r"\s*x", r"(a|a)*b", r"^(\w+\s?)*$", r"<b[^>]*c", r"x.*?y.*?z", r"\s+\s*!"])
def test_what_takes_long_is_found(text):
    assert slow_text(re.compile(text)) is not None


def test_expressions_take_linear_time():
    found = list(expressions(SOURCE))
    assert len(found) > 100
    slow = {place: (e.pattern, text[:40]) for place, e in found if (text := slow_text(e)) is not None}
    assert slow == {}
