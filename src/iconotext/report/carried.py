"""What carries a link, in words: the few of a sentence that an explanation gives the most weight."""

from __future__ import annotations

from iconotext.types import Explanation

LEAST = 0.005
"""A fall of the similarity below this is nothing to speak of."""

SHARE = 0.5
"""Share of the largest weight that a word must reach."""

MOST = 5


def carrying_words(explanation: Explanation | None) -> list[tuple[int, int]]:
    """Begin and end of the words that carry a link, in reading order; none where nothing does, or nobody asked."""
    if explanation is None:
        return []
    largest = max((weight for *_, weight in explanation.words), default=0.0)
    strong = [word for word in explanation.words if word[2] >= max(LEAST, SHARE * largest)]
    strong = sorted(strong, key=lambda word: (-word[2], word[0]))[:MOST]
    return sorted((begin, end) for begin, end, _ in strong)


def carried_by(text: str, explanation: Explanation | None) -> str:
    """The words that carry a link, as the sentence writes them, with commas between; "" where there are none."""
    words = [text[begin:end] for begin, end in carrying_words(explanation)]
    return ", ".join(dict.fromkeys(words))
