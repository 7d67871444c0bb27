"""The text of a document as one string, with the position of every sentence, and the headings above it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from iconotext.report.flow import blocks, space_after
from iconotext.types import Document, Sentence

Span = tuple[int, int]

BETWEEN_BLOCKS = "\n\n"
MOST = 0.5
DEFAULT_LEVEL = 2
"""Level of headings whose level is unknown; the title, repeated as a heading, has level 1."""

# In scripts without spaces, each character counts as a word, as in word processors.
_WORD = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


def document_text(document: Document) -> tuple[str, list[Span]]:
    """All sentences in reading order, with blank lines between blocks; and the position of each, in characters."""
    parts: list[str] = []
    spans: list[Span] = []
    length = 0
    for block in blocks(document.sentences):
        for place, sentence in enumerate(block.sentences):
            text = document.sentences[sentence].text
            space = (BETWEEN_BLOCKS if parts else "") if place == 0 else space_after(parts[-1])
            length += len(space) + len(text)
            spans.append((length - len(text), length))
            parts += [space, text]
    return "".join(parts), spans


def sentences_within(spans: Iterable[Span | None], start: int, end: int) -> set[int]:
    """The sentences of which a range of the text covers more than half, or the sentence around the range."""
    return {
        number
        for number, span in enumerate(spans)
        if span is not None
        and (common := min(end, span[1]) - max(start, span[0])) > 0
        and (common > MOST * (span[1] - span[0]) or span[0] <= start <= end <= span[1])
    }


def count_words(text: str) -> int:
    """The number of words of a text; in scripts without spaces, of characters."""
    return sum(1 for _ in _WORD.finditer(text))


def heading_paths(document: Document) -> list[tuple[str, ...]]:
    """For each sentence the headings above it, highest first; for a heading, including itself."""
    paths: list[tuple[str, ...]] = []
    open_: list[tuple[int, str]] = []
    for sentence in document.sentences:
        if sentence.heading:
            level = _level(sentence, document.title, first=not open_)
            open_ = [(above, text) for above, text in open_ if above < level] + [(level, sentence.text)]
            path = tuple(text for _, text in open_)
        else:
            path = paths[-1] if paths else ()
        paths.append(path)
    return paths


def _level(heading: Sentence, title: str | None, *, first: bool) -> int:
    if heading.level is not None:
        return heading.level
    return 1 if first and heading.text == title else DEFAULT_LEVEL


def common_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The common beginning of heading paths."""
    if not paths:
        return ()
    least, most = min(paths), max(paths)
    same = next((n for n, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    return least[:same]
