"""Texts and numbers as people, and programs on a terminal, are shown them."""

from __future__ import annotations

from iconotext.plain_text import encodable as encodable
from iconotext.plain_text import percent as percent
from iconotext.plain_text import readable as readable


def shortened(text: str, length: int) -> str:
    """The text, cut at a word where one ends late enough, so that it takes at most ``length`` characters."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length * 2 // 3 else cut).rstrip() + "…"
