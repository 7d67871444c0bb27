"""The length of texts in words or tokens, and the division of a text into stretches that are within a limit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from iconotext.errors import SettingError
from iconotext.plain_text import encodable
from iconotext.report.flow import Span, count_words, counted_words


class Ruler(NamedTuple):
    """A limit for the length of texts, and what measures them.

    Attributes:
        limit: The largest length.
        name: What is counted, in words.
        lengths: Returns the length of each text.
        added: The length of the empty text: tokens that models put around a text.
    """

    limit: int
    name: str
    lengths: Callable[[Sequence[str]], list[int]]
    added: int = 0

    def fits(self, text: str) -> bool:
        """Return whether a text is within the limit."""
        return self.lengths([text])[0] <= self.limit


def words_ruler(limit: int) -> Ruler:
    """Measure in words; in Chinese, Japanese and Korean, in characters."""
    return Ruler(limit, "words", lambda texts: [count_words(text) for text in texts])


def tokens_ruler(limit: int, tokenizer: str) -> Ruler:
    """Measure in tokens as a model gets them, with those that its tokeniser puts before and after a text.

    Raises:
        FeatureError: There is no such tokeniser.
        SettingError: The limit leaves no room for text.
    """
    from iconotext.features.tokenizer_files import named_tokenizer  # loads the library

    encode = named_tokenizer(tokenizer).encode_batch_fast

    def lengths(texts: Sequence[str]) -> list[int]:
        return [len(encoding) for encoding in encode([encodable(text) for text in texts])]

    (added,) = lengths([""])
    if limit <= added:
        raise SettingError(f"tokens is {limit}, but the tokeniser {tokenizer} itself adds {added}: give more")
    return Ruler(limit, f"tokens of {tokenizer}", lengths, added)


def stretches(
    text: str, spans: Sequence[Span], lengths: Sequence[int], ruler: Ruler, cost: Callable[[int], int]
) -> list[int]:
    """Join consecutive spans of a text into stretches within the limit; return the number of the first span of each.

    A stretch is filled until the next span no longer fits, and ends at the best border in its second half.

    Args:
        lengths: Of the spans, each within the limit.
        cost: Of the border before the span of a number; a stretch ends where it is lowest, and there as late as it can.
    """
    before = [0, *accumulate(length - ruler.added for length in lengths)]
    room = ruler.limit - ruler.added
    starts: list[int] = []
    start = 0
    # One pass: an optimal division by the cost of borders takes quadratic time in hostile files.
    while start < len(spans):
        starts.append(start)
        full = max(bisect_right(before, before[start] + room) - 1, start + 1)
        half = min(max(bisect_right(before, before[start] + room // 2), start + 1), full)
        ends = sorted(range(half, full + 1), key=lambda i: (cost(i) if i < len(spans) else -1, -i))
        # The sum is an estimate: what stands between two spans may be tokens, too.
        every = (*ends, *range(half - 1, start, -1))
        start = next(i for i in every if i == start + 1 or ruler.fits(text[spans[start][0] : spans[i - 1][1]]))
    return starts


def within_limit(text: str, spans: Sequence[Span], ruler: Ruler) -> tuple[list[tuple[int, Span]], list[int]]:
    """Divide spans that are longer than the limit, between words if possible, else between characters.

    Returns:
        Pairs of the number of a span and a part of it, in order; and the length of each part.

    Raises:
        SettingError: A single character is longer than the limit.
    """
    parts: list[tuple[int, Span]] = []
    lengths: list[int] = []
    for number, (span, length) in enumerate(zip(spans, ruler.lengths([text[a:b] for a, b in spans]), strict=True)):
        own = [span] if length <= ruler.limit else list(_divided(text, span, ruler))
        parts += [(number, part) for part in own]
        lengths += [length] if own == [span] else ruler.lengths([text[a:b] for a, b in own])
    return parts, lengths


def cut_text(text: str, ruler: Ruler) -> str:
    """Return the beginning of a text that is within the limit."""
    return "" if not text else text[: within_limit(text, [(0, len(text))], ruler)[0][0][1][1]]


def _divided(text: str, span: Span, ruler: Ruler) -> Iterator[Span]:
    """Yield the parts of a span that is longer than the limit."""
    start, end = span
    if end - start == 1:
        raise SettingError(f"{ruler.name}: one character of the text takes more than {ruler.limit}: give more")
    smaller = [(start + a, start + b) for a, b in counted_words(text[start:end])]
    if len(smaller) < 2:
        smaller = [(i, i + 1) for i in range(start, end)]
    numbered, lengths = within_limit(text, smaller, ruler)
    parts = [part for _, part in numbered]
    firsts = stretches(text, parts, lengths, ruler, lambda _: 0)
    for first, after in zip(firsts, [*firsts[1:], len(parts)], strict=True):
        yield parts[first][0], parts[after - 1][1]
