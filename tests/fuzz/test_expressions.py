"""No regular expression of the package takes more than linear time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import iconotext
from tests.fuzz.expressions import attacks, expressions
from tests.fuzz.steps import Steps, growth

SOURCE = Path(iconotext.__file__).parent
FOLDERS = ("read", "evidence", "decide", "report", "check", "alt_text", "place")
"""What meets documents of strangers."""
EXCEPTIONS = {"evidence/labels.py": ("_ELSEWHERE_BEFORE", "is looked for in 100 characters")}
"""Expressions that may take longer: module, name, reason."""
SIZES = ((60, 2.1, 0), (200, 2.5, 50))
"""Characters of the shorter of two texts, the other one being twice as long; how many times the steps, and how many steps
more, the longer one takes at least where time is not linear. Few texts pass the short test, so few are tried in the long
one. Where a share s of the steps of a place lies in what grows with the text, the short one finds s > 1/1,140, the long one
s > 1/600.
"""

LONGEST = 10
"""To which repetitions that have an end are cut down."""


def slow_text(expression: re.Pattern[Any], *, searches: bool = True) -> str | None:
    """A text on which it takes more than linear time; which one that is does not depend on how fast a machine is."""
    steps = Steps(expression, LONGEST)
    for attack in attacks(expression):
        if all(_grows(steps, attack.texts(size), times, more, searches) for size, times, more in SIZES):
            return attack.texts(SIZES[-1][0])[0]
    return None


def _grows(steps: Steps, texts: tuple[str, str], times: float, more: int, searches: bool) -> bool:
    short, long = texts if isinstance(steps.expression.pattern, str) else map(str.encode, texts)
    taken = growth(steps, short, long, searches=searches)
    return taken is None or taken[1] > times * taken[0] + more


@pytest.mark.parametrize(
    "text", [r"\s*x", r"(a|a)*b", r"^(\w+\s?)*$", r"<b[^>]*c", r"x.*?y.*?z", r"\s+\s*!", r"(\S*[^\s,])\s*(?:,|$)"]
)
def test_what_takes_long_is_found(text):
    assert slow_text(re.compile(text)) is not None


@pytest.mark.parametrize(
    "text",
    [
        r"\s*+x?",
        r"(?:ab)*c",
        r"^\s*x",
        r"<b[^<>]*c",
        r"x[^xz]*z",
        r"\s{0,50}x",
        r"(?<!\s)\s+$",
        r"(?<![ab])(a|b)*+c",
        r"\bword\b",
    ],
)
def test_what_takes_linear_time_is_not(text):
    assert slow_text(re.compile(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        r"(a|ab)(c|bcd)(d*)", r"(a*)*b", r"(a|b)*?c", r"(?i)[^a-c]+B?", r"(?i:a(?-i:B))+", r"(.)\1+", r"(?<=a)b+(?!c)", r"(?<!ab)(?=a.c)\w",
        r"(?:a|b){2,3}?c", r"a{2}|(?P<x>b)(?P=x)?", r"\bab\b|^c$", r"(?>a+|b)c", r"(?s:.)*+|x", r"(?m)^a.*?$", r"(?:a?){3}b*",
    ],
)  # fmt: skip
@given(st.text("abcdB \n", max_size=12))
def test_steps_are_counted_on_the_way_that_re_goes(text, subject):
    expression = re.compile(text)
    steps = Steps(expression)
    for place in range(len(subject) + 1):
        found = expression.match(subject, place)
        assert steps.match(subject, place) == (None if found is None else found.end())


@pytest.mark.slow
def test_expressions_take_linear_time():
    found = list(expressions(SOURCE, *FOLDERS))
    assert len(found) > 60
    excepted = {(place, name) for place, (name, _) in EXCEPTIONS.items()}
    assert excepted <= {(one.place.split(":")[0], one.name) for one in found}
    slow = {}
    for one in found:
        text = slow_text(one.expression, searches=one.searches)
        if text is not None and (one.place.split(":")[0], one.name) not in excepted:
            slow[one.place] = (one.expression.pattern, text[:40])
    assert slow == {}
