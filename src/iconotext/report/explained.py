"""Explanations for the script of the reading view."""

from __future__ import annotations

from typing import Any

from iconotext.plain_text import readable
from iconotext.report.carried import carried_by, carrying_words
from iconotext.types import Explanation, LinkedDocument


def explained_data(linked: LinkedDocument) -> dict[str, Any]:
    """What the script needs to draw explanations; {} where no link has one.

    Returns:
        ``boxes``: sets of regions, each a list of left, top, right, bottom; images mostly share one.
        ``why``: per link None, or the words as begin, end (UTF-16 units of the sentence as it is shown), weight, and 1
        for one that carries the link; the number of its set of boxes; the weights of these; the words that carry it,
        as text.
    """
    if not any(link.explanation for link in linked.links):
        return {}
    sets: dict[tuple[tuple[float, ...], ...], int] = {}
    why: list[Any] = []
    for link in linked.links:
        found = link.explanation
        if found is None:
            why.append(None)
            continue
        text = linked.document.sentences[link.sentence].text
        boxes = tuple(tuple(_short(edge) for edge in box) for *box, _ in found.regions)
        number = sets.setdefault(boxes, len(sets))
        weights = [_short(weight) for *_, weight in found.regions]
        why.append([_words(text, found), number, weights, readable(carried_by(text, found))])
    return {"boxes": list(sets), "why": why}


def _words(text: str, explanation: Explanation) -> list[list[float]]:
    """The words at their places in the text as a page shows it and as JavaScript counts it."""
    strong = set(carrying_words(explanation))
    return [
        [_units(text[:begin]), _units(text[:end]), _short(weight), int((begin, end) in strong)]
        for begin, end, weight in explanation.words
    ]


def _units(text: str) -> int:
    return len(readable(text).encode("utf-16-le")) // 2


def _short(value: float) -> float:
    return float(f"{value:.3g}") if abs(value) < float("inf") else 0.0
