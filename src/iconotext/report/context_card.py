"""Shows a context in a notebook, as HTML: the picture beside the text about it."""

from __future__ import annotations

from html import escape
from pathlib import Path

from iconotext.excerpts import Context
from iconotext.plain_text import percent, readable
from iconotext.report.embedded import embed
from iconotext.types import Image

LONGER_SIDE = 360
"""Longer side of the picture, in pixels."""


def context_card(context: Context) -> str:
    """The picture, if it has a file, with headings, text, caption and confidence beside it.

    All text is escaped, and the picture is included in the HTML, so nothing is loaded.
    """
    picture = _picture(context)
    sure = f"by {context.by}" if context.confidence is None else percent(context.confidence)
    parts = [
        ("small", " › ".join(context.headings)),
        ("p", context.text or "nothing"),
        ("em", context.caption or context.alt or ""),
        ("small", f"{context.source} ({sure}){f': {context.problem}' if context.problem else ''}"),
    ]
    said = "".join(f"<div><{tag}>{_text(text)}</{tag}></div>" for tag, text in parts if text)
    style = "display: flex; gap: 1em; align-items: flex-start; max-width: 60em"
    return f'<div style="{style}">{picture}<div style="white-space: pre-line">{said}</div></div>'


def _picture(context: Context) -> str:
    if context.file is None:
        return ""
    found = embed([Image(context.source, Path(context.file))], [0], longer_side=LONGER_SIDE)[0]
    if found.uri is None:
        return ""
    return f'<img src="{found.uri}" alt="{_text(context.alt or "")}" style="max-width: 45%; height: auto">'


def _text(text: str) -> str:
    return escape(readable(text))
