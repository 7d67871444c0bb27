"""Text that is safe to show: without characters that files, browsers, terminals or spreadsheets act on; and numbers."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator

_SURROGATE = re.compile("[\ud800-\udfff]")
# All of C0 and C1 but tab, newline and carriage return; DEL; and the marks that reverse the order of a whole line
# ("Trojan source"), which honest text does not need: right-to-left scripts work without them.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
"""Beginnings that a spreadsheet takes for a formula."""


def encodable(text: str) -> str:
    """Return the text with every lone surrogate, which UTF-8 cannot encode, replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def readable(text: str) -> str:
    """Return the text for display: encodable, without control characters and marks that reverse a line."""
    return _CONTROL.sub("", encodable(text))


def shortened(text: str, length: int) -> str:
    """Return the text cut to at most ``length`` characters, at the end of a word if possible."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length * 2 // 3 else cut).rstrip() + "…"


def json_text(value: object) -> str:
    """Return the value as one line of JSON that is safe to print on a terminal; letters are not escaped.

    Characters that would act on a terminal are escaped, so that they can be read back; lone surrogates become U+FFFD.
    """
    text = encodable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def json_list(values: Iterable[object]) -> Iterator[str]:
    """Yield pieces of JSON for a list, one line per value; it ends with a newline."""
    separator = "[\n"
    for value in values:
        yield separator + json_text(value)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 document``, ``2,000 documents``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], conjunction: str = "and") -> str:
    """Return names as in a sentence: ``PNG``, ``PNG and SVG``, ``JPEG, PNG and SVG``."""
    *before, last = names
    return f"{', '.join(before)} {conjunction} {last}" if before else last


def language_name(code: str) -> str:
    """Return the English name of a language by its ISO 639 code, ``es`` for example; the code itself if it has none."""
    from babel import Locale

    return str(Locale("en").languages.get(code, code))


def data_size(size: int) -> str:
    """Return a number of bytes in its largest unit of at least one: ``300 bytes``, ``293 KiB``, ``1.5 GiB``."""
    if size < 2**10:
        return counted(size, "byte")
    power = min((size.bit_length() - 1) // 10, 4)
    value = size / 2 ** (10 * power)
    return f"{value:,.0f} {_UNITS[power]}" if value >= 100 else f"{value:.3g} {_UNITS[power]}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean epochs?`` with the known name most similar to a mistyped one, or the one that it ends."""
    known = list(names)
    near = [each for each in known if each.endswith(f"/{name}")] or difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def there_are(near: str, names: Iterable[str]) -> str:
    """Return the text of ``did_you_mean``, followed by all known names."""
    return f"{f'{near} T' if near else '; t'}here are {', '.join(names)}"


def percent(share: float, digits: int = 0) -> str:
    """Return a share or a confidence, 0 to 1, in percent; 0 % and 100 % only if exact.

    Args:
        share: The number.
        digits: Number of digits after the decimal point.
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
    """Return the text for a cell of a table in a file.

    It is readable, with a leading ``'`` if a spreadsheet would take it for a formula.
    """
    plain = readable(text)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain
