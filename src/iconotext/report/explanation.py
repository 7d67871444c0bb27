"""What carries a link: the words that weigh most, and all weights for the script of the reading view."""

from __future__ import annotations

from typing import Any

from iconotext.plain_text import readable
from iconotext.types import Explanation, LinkedDocument

LEAST = 0.005
"""The similarity falls by at least this much without a word that carries a link."""

SHARE = 0.5
"""A word carries a link if its weight is at least this share of the largest weight."""

MOST = 5
"""At most so many words are named."""


def carrying_words(explanation: Explanation | None) -> list[tuple[int, int]]:
    """Begin and end of the words that carry a link, in reading order; [] where no word does or nothing is known."""
    if explanation is None:
        return []
    largest = max((weight for *_, weight in explanation.words), default=0.0)
    strong = [word for word in explanation.words if word[2] >= max(LEAST, SHARE * largest)]
    strong = sorted(strong, key=lambda word: (-word[2], word[0]))[:MOST]
    return sorted((begin, end) for begin, end, _ in strong)


def carried_by(text: str, explanation: Explanation | None) -> str:
    """The words that carry a link, as the sentence writes them, separated by commas; "" where there are none."""
    words = [text[begin:end] for begin, end in carrying_words(explanation)]
    return ", ".join(dict.fromkeys(words))


def explanation_data(linked: LinkedDocument) -> dict[str, Any]:
    """What the script of the reading view needs to draw explanations; {} where no link has one.

    Returns:
        ``boxes``: sets of regions, each a list of left, top, right, bottom; most images share one set.
        ``why``: for each link None, or a list: its words, the number of its set of boxes, the weights of these boxes,
        and the words that carry it as text. A word is its begin and end (in UTF-16 units of the sentence as it is
        shown), its weight, and 1 if it carries the link.
    """
    if not any(link.explanation for link in linked.links):
        return {}
    numbers: dict[tuple[tuple[float, ...], ...], int] = {}
    why: list[Any] = []
    for link in linked.links:
        found = link.explanation
        if found is None:
            why.append(None)
            continue
        text = linked.document.sentences[link.sentence].text
        boxes = tuple(tuple(_short(edge) for edge in box) for *box, _ in found.regions)
        number = numbers.setdefault(boxes, len(numbers))
        weights = [_short(weight) for *_, weight in found.regions]
        why.append([_words(text, found), number, weights, readable(carried_by(text, found))])
    return {"boxes": list(numbers), "why": why}


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
