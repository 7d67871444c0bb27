"""The positions of a document's sentences in the Markdown or HTML file from which it was read."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from iconotext.errors import IconotextError
from iconotext.read.directives import REFERENCE
from iconotext.read.format import suffix_format
from iconotext.read.formulas import FORMULA, shown
from iconotext.read.html import INLINE
from iconotext.read.markdown import markdown_references
from iconotext.read.text_file import decode_text
from iconotext.types import Document

MARKDOWN = "markdown"
"""Key of ``Document.meta`` with the source of a document that is no file."""

LONG = 5
"""Sentences of at least this many words are found first, and shorter ones then between them."""

# Parts of a page that readers do not see: they are no words, and may be inside a word. Each part ends at the end of the
# file at the latest, so that unclosed parts do not take quadratic time.
_HIDDEN = r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style)\b.*?(?:</(?P=raw)|\Z)"
_TAG = r"|</?(?P<tag>[a-z][a-z0-9]{0,20})(?:[^<>a-z0-9][^<>]*)?>"
_MARKDOWN = (  # references, pictures, targets of links, footnotes, emphasis
    rf"|(?P<reference>{REFERENCE})|(?P<formula>{FORMULA})"
    r"|!\[[^\[\]]{0,500}\]\([^()\n]{0,2000}\)|\]\([^()\n]{0,2000}\)|\]\[[^\[\]\n]{0,200}\]|\[\^\w{1,50}\]|\*+"
)
_REST = r"|(?P<entity>&\#?\w{1,31};)|(?P<word>[^\W_]+)|(?P<gap>.)"
_TOKENS = {
    "html": re.compile(_HIDDEN + _TAG + _REST, re.DOTALL | re.IGNORECASE),
    "markdown": re.compile(_HIDDEN + _TAG + _MARKDOWN + _REST, re.DOTALL | re.IGNORECASE),
}
_WORD = re.compile(r"[^\W_]+")


def source_spans(document: Document) -> list[tuple[int, int] | None]:
    """Return begin and end of each sentence in its file, in characters of the decoded file.

    Only words are compared, so that markup within a sentence does not matter.

    Returns:
        None for a sentence that is not found, and for all if the file is neither Markdown nor HTML, came from the web,
        or can no longer be read.
    """
    source = source_text(document)
    return [None] * len(document.sentences) if source is None else _sentence_spans(document, *source)


def source_text(document: Document) -> tuple[str, str] | None:
    """Return the decoded file of a document and its format; None if sentences cannot be found in it."""
    if document.source is None and isinstance(text := document.meta.get(MARKDOWN), str):
        return text, "markdown"
    path = document.source
    row = suffix_format(path) if path is not None else None
    if path is None or row is None or row.name not in _TOKENS or "address" in document.meta:
        return None
    kind = row.name
    try:
        return decode_text(path, html=kind == "html"), kind
    except (OSError, IconotextError):
        return None


def _sentence_spans(document: Document, source: str, kind: str) -> list[tuple[int, int] | None]:
    stem = document.source.stem if document.source is not None else ""
    link_texts = markdown_references(source, stem) if kind == "markdown" else {}
    plain, places = _words(source, kind, link_texts)
    star = kind == "markdown"  # emphasis within a word; so a star in the sentence is ignored, too
    keys = [f" {' '.join(_WORD.findall(s.text.replace('*', '') if star else s.text))} " for s in document.sentences]
    begins = _places(plain, keys)
    return [
        None if at is None else _whole(source, sentence.text, places[at + 1][0], places[at + len(key) - 2][1])
        for at, key, sentence in zip(begins, keys, document.sentences, strict=True)
    ]


def _words(source: str, kind: str, link_texts: Mapping[str, list[str]]) -> tuple[str, list[tuple[int, int]]]:
    """Return the words of a file, with spaces around each, and the position in the file of each of these characters.

    Args:
        link_texts: Reference in the file to the texts that are shown for it, in order.
    """
    text, places = [" "], [(0, 0)]
    for piece, spans in _pieces(source, kind, link_texts):
        start = 1 if piece.startswith(" ") and text[-1].endswith(" ") else 0
        if piece[start:]:
            text.append(piece[start:])
            places += spans[start:]
    return "".join([*text, " "]), [*places, (len(source), len(source))]


def _pieces(source: str, kind: str, link_texts: Mapping[str, list[str]]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield words, and a space for each token that ends a word, with the position of each character; as ``_words``."""
    seen: Counter[str] = Counter()
    for token in _TOKENS[kind].finditer(source):
        entity = html.unescape(token["entity"] or "")
        tag = (token["tag"] or "").lower()
        if token["word"]:
            yield token["word"], [(place, place + 1) for place in range(*token.span())]
            continue
        if kind == "markdown" and (formula := token["formula"]):
            piece = " ".join(_WORD.findall(shown(formula) or formula))
        elif kind == "markdown" and (reference := token["reference"]):
            link_text = link_texts.get(reference, [reference])
            piece = " ".join(_WORD.findall(link_text[min(seen[reference], len(link_text) - 1)]))
            seen[reference] += 1
            if reference not in link_texts:
                piece = f" {piece}"
        elif _WORD.fullmatch(entity):
            piece = entity
        elif entity or token["gap"] or (tag and tag not in INLINE):
            piece = " "
        else:  # markup within a word, or a part that readers do not see
            continue
        yield piece, [token.span()] * len(piece)


def _places(plain: str, keys: Sequence[str]) -> list[int | None]:
    """Return the beginning of each key: of long ones in order, then of short ones, as near as can be before the next.

    Headings are also in a table of contents, so short keys are searched backwards.
    """
    begins: list[int | None] = [None] * len(keys)
    cursor = 0
    for i in (i for i, key in enumerate(keys) if key.count(" ") > LONG):
        at = plain.find(keys[i], cursor)
        if at >= 0:
            begins[i], cursor = at, at + len(keys[i]) - 1
    # Each short sentence lies behind the long one before it, and before the sentence after it.
    low, lows = 0, []
    for place, key in zip(begins, keys, strict=True):
        low = low if place is None else place + len(key) - 1
        lows.append(low)
    high = len(plain)
    for i in reversed(range(len(keys))):
        if begins[i] is None and keys[i].strip():
            at = plain.rfind(keys[i], lows[i], high)
            begins[i] = at if at >= 0 else None
        begin = begins[i]
        high = high if begin is None else begin + 1
    return begins


def _whole(source: str, sentence: str, start: int, end: int) -> tuple[int, int]:
    """Extend the words to the signs around them if the file has the same signs."""
    words = list(_WORD.finditer(sentence))
    before, after = sentence[: words[0].start()], sentence[words[-1].end() :]
    if before and source[:start].endswith(before):
        start -= len(before)
    if after and source.startswith(after, end):
        end += len(after)
    return start, end
