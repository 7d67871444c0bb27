"""Make text from documents fit to be written: no characters that files, browsers or terminals choke on."""

from __future__ import annotations

import math
import re

_SURROGATE = re.compile("[\ud800-\udfff]")
# Everything of C0 and C1 but tab, newline and carriage return; DEL; and the marks that reverse the order of a whole
# line ("Trojan source"), of which honest text needs none: right-to-left scripts work without them.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


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


def percent(confidence: float) -> str:
    """A confidence, 0 to 1, as a whole percentage; 0 % and 100 % only for what is just that."""
    if not math.isfinite(confidence):
        return "?"
    if 0 < confidence < 0.01:
        return "<1\u00a0%"
    if 0.99 < confidence < 1:
        return ">99\u00a0%"
    return f"{confidence:.0%}".replace("%", "\u00a0%")
