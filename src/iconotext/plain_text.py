"""Text fit to be written: nothing that files, browsers, terminals or spreadsheets act on, and plain numbers."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator

_SURROGATE = re.compile("[\ud800-\udfff]")
# Everything of C0 and C1 but tab, newline and carriage return; DEL; and the marks that reverse the order of a whole
# line ("Trojan source"), of which honest text needs none: right-to-left scripts work without them.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
"""Beginnings of what spreadsheets take for a formula, some of them after white space or in full width."""


def encodable(text: str) -> str:
    """The text with every lone surrogate, which UTF-8 cannot say, replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def readable(text: str) -> str:
    """The text for human eyes: encodable, and without control characters and marks that reverse a line."""
    return _CONTROL.sub("", encodable(text))


def shortened(text: str, length: int) -> str:
    """The text, cut at a word where one ends late enough, so that it takes at most ``length`` characters."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length * 2 // 3 else cut).rstrip() + "…"


def json_text(value: object) -> str:
    """The value as JSON on one line that a terminal may show; letters stay letters.

    Characters that would act on a terminal are escaped, so that they read back as they were; lone surrogates become
    U+FFFD.
    """
    text = encodable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_list(values: Iterable[object]) -> Iterator[str]:
    """The pieces of a list, a line for each value, as they come; ends with a newline."""
    separator = "[\n"
    for each in values:
        yield separator + json_text(each)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def counted(number: int, thing: str) -> str:
    """``1 document``, ``2,000 documents``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean epochs?``, with the known name that is most like a mistyped one; nothing where none is."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def there_are(near: str, known: Iterable[str]) -> str:
    """What ``did_you_mean`` gave, followed by all known names."""
    return f"{f'{near} T' if near else '; t'}here are {', '.join(known)}"


def percent(share: float, digits: int = 0) -> str:
    """A share or a confidence, 0 to 1, in percent; 0 % and 100 % only for what is just that.

    Args:
        share: The number.
        digits: Behind the point.
    """
    if not math.isfinite(share):
        return "?"
    least = 10 ** -(digits + 2)
    if 0 < share < least:
        return f"<{100 * least:.{digits}f}\u00a0%"
    if 1 - least < share < 1:
        return f">{100 * (1 - least):.{digits}f}\u00a0%"
    return f"{100 * share:.{digits}f}\u00a0%"


def cell(text: str) -> str:
    """The text for a cell of a table in a file: readable, and behind a ``'`` where a spreadsheet would compute it."""
    shown = readable(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
