"""Explanations of links for output: the words that carry a link, and the data for the reading view."""

from __future__ import annotations

from typing import Any

from iconotext.evidence.words import stems
from iconotext.plain_text import readable
from iconotext.types import Explanation, LinkedDocument

LEAST = 0.005
"""Smallest weight (fall of the similarity) of a word that carries a link."""

SHARE = 0.5
"""Smallest weight of a word that carries a link, as a share of the largest weight."""

MOST = 5
"""Maximum number of words that are named."""


def carrying_words(text: str, explanation: Explanation | None) -> list[tuple[int, int]]:
    """Return begin and end of the words that carry a link to the sentence ``text``, in order; [] if there are none.

    Function words are not named: an encoder's vector of a sentence moves without them, too, but they show nothing.
    """
    if explanation is None:
        return []
    words = [word for word in explanation.words if stems(text[word[0] : word[1]])]
    largest = max((weight for *_, weight in words), default=0.0)
    strong = [word for word in words if word[2] >= max(LEAST, SHARE * largest)]
    strong = sorted(strong, key=lambda word: (-word[2], word[0]))[:MOST]
    return sorted((begin, end) for begin, end, _ in strong)


def carried_by(text: str, explanation: Explanation | None) -> str:
    """Return the words that carry a link, separated by commas; "" if there are none."""
    words = [text[begin:end] for begin, end in carrying_words(text, explanation)]
    return ", ".join(dict.fromkeys(words))


def explanation_data(linked: LinkedDocument) -> dict[str, Any]:
    """Make the data with which the reading view's script draws explanations; {} if no link has one.

    Returns:
        ``boxes``: sets of regions, each a list of left, top, right, bottom; most images share one set.
        ``why``: for each link None, or a list: its words, the number of its set of boxes, these boxes' weights, and
        the words that carry it as text. A word is its begin and end (in UTF-16 units of the sentence as shown), its
        weight, and 1 if it carries the link.
    """
    if not any(link.explanation for link in linked.links):
        return {}
    numbers: dict[tuple[tuple[float, ...], ...], int] = {}
    why: list[Any] = []
    for link in linked.links:
        explanation = link.explanation
        if explanation is None:
            why.append(None)
            continue
        text = linked.document.sentences[link.sentence].text
        boxes = tuple(tuple(_short(edge) for edge in box) for *box, _ in explanation.regions)
        number = numbers.setdefault(boxes, len(numbers))
        weights = [_short(weight) for *_, weight in explanation.regions]
        why.append([_words(text, explanation), number, weights, readable(carried_by(text, explanation))])
    return {"boxes": list(numbers), "why": why}


def _words(text: str, explanation: Explanation) -> list[list[float]]:
    """Return the words, with positions in the shown text as JavaScript counts them."""
    strong = set(carrying_words(text, explanation))
    return [
        [_units(text[:begin]), _units(text[:end]), _short(weight), int((begin, end) in strong)]
        for begin, end, weight in explanation.words
    ]


def _units(text: str) -> int:
    return len(readable(text).encode("utf-16-le")) // 2


def _short(value: float) -> float:
    return float(f"{value:.3g}") if abs(value) < float("inf") else 0.0
