"""Splitting text into sentences, in the language of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator

from iconotext.errors import SettingError

ENGLISH = frozenset(("the of and to in is that for it with as was on are this be by you from have an not at").split())
WORD = re.compile(r"[^\W\d_]+")
SAMPLE = 2_000  # enough characters to detect the language
TELLING = 120
"""With this many characters, some 20 words, the language is detected correctly in 96 to 100 % of cases; see results."""
WINDOW = 10_000
"""Characters that are split into sentences at a time: some 80 sentences."""


def detect_language(text: str) -> str:
    """ISO 639-1 code of the language of a text; ``en`` if there is too little text.

    Plain English is recognised by its most common words, since loading the identifier takes half a second.
    """
    words = WORD.findall(text[:SAMPLE].lower())
    if len(words) < 5:
        return "en" if text.isascii() else _identify(text)
    if sum(word in ENGLISH for word in words) > 0.15 * len(words):
        return "en"
    return _identify(text[:SAMPLE])


def document_language(declared: str | None, text: str) -> str:
    """ISO 639-1 code of a document's language, given what it declares (see ``language_code``).

    A declaration often comes from the page's template: if it says English and the text is in another language, or the
    reverse, and there is enough text, the text decides.
    """
    if declared is None:
        return detect_language(text)
    if len(text) < TELLING:
        return declared
    found = detect_language(text)
    wrong = found != declared and "en" in (found, declared) and _identify(text[:SAMPLE]) == found
    return found if wrong else declared


def _identify(text: str) -> str:
    import py3langid

    language: str = py3langid.classify(text)[0]
    return language


def language_code(declared: str) -> str | None:
    """Normalise a declared language (``pt-BR``, ``EN``, ``de_AT``) to its code; None if it is not valid."""
    match = re.match(r"\s*+([A-Za-z]{2,3})(?![A-Za-z])", declared)
    return match[1].lower() if match else None


def split_sentences(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Offsets (start, end) of the sentences of a block of text, without the white space around them.

    The splitter takes quadratic time on some texts (quotation marks that only open), so it gets ``WINDOW`` characters
    at a time, beginning with the sentence at the end of the previous window. A longer sentence is split.

    Raises:
        SettingError: The splitter does not support this language code.
    """
    start = 0
    while len(text) - start > WINDOW:
        space = text.rfind(" ", start + 1, start + WINDOW)
        window = text[start : space if space > 0 else start + WINDOW]
        spans = _split(window, language)
        if len(spans) > 1:
            cut_off, _ = spans.pop()
        else:
            cut_off = len(window)
        yield from ((start + a, start + b) for a, b in spans)
        start += cut_off
    yield from ((start + a, start + b) for a, b in _split(text[start:], language))


def _split(text: str, language: str) -> list[tuple[int, int]]:
    import sentencex

    try:
        segments = sentencex.segment(language, text)
    except ValueError as error:
        raise SettingError(f"no sentence splitter for language {language!r}: give an ISO 639-1 code") from error
    spans = []
    end = 0
    for segment in segments:
        stripped = segment.strip()
        if stripped:
            start = text.index(stripped, end)
            end = start + len(stripped)
            spans.append((start, end))
    return spans
