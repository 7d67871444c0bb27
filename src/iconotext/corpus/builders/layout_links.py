"""Gold links from how an author laid a document out: three rules, each a guess that holds for some kind of document.

Captions are not among the sentences that are linked, unless they were read as sentences (``captions=true``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from iconotext.types import Document, Image, Sentence

LinkRule = Literal["adjacent", "caption", "step"]

WORD = re.compile(r"[^\W_]+")

SHARED = 0.5
"""Part of a caption's words that a sentence must have to say the same."""

STOP = frozenset(
    "a an and are as at be by for from has have in is it its of on or that the this to was were with figure fig photo "
    "picture image".split()
)
"""English words that say nothing of what a picture shows; in other languages all words count."""


def layout_links(document: Document, rule: LinkRule) -> tuple[tuple[int, int], ...]:
    """Links of a document by a rule, sorted.

    ``adjacent``: a picture inside a paragraph, list item or table cell belongs to all of its sentences; one that stands
    alone to the paragraph above it, or to the one below where it stands at the beginning or right under a heading; to
    the heading where there is nothing else.

    ``step``: a picture belongs to the step that it stands in or after: the last list item before it in its section, and
    where the section has none, all of the section's sentences. A section goes from heading to heading.

    ``caption``: a picture belongs to its caption where captions are among the sentences; else to the sentence that says
    the same: the one with most of the words of the caption (or the alternative text, where there is no caption), two
    and half of them at least, the nearest of several.
    """
    if not (document.sentences and document.images and document.has_layout):
        return ()
    find = RULES[rule]
    return tuple(sorted({(s, i) for i, image in enumerate(document.images) for s in find(document.sentences, image)}))


def _adjacent(sentences: tuple[Sentence, ...], image: Image) -> list[int]:
    position = image.position or 0
    inside = _block(sentences, image.block)
    if inside:
        return inside
    above, below = _neighbour(sentences, position, -1), _neighbour(sentences, position, +1)
    if above is not None and not sentences[above].heading:
        return _block(sentences, sentences[above].block)
    if below is not None and not sentences[below].heading:
        return _block(sentences, sentences[below].block)
    return [] if above is None else [above]


def _step(sentences: tuple[Sentence, ...], image: Image) -> list[int]:
    position = image.position or 0
    inside = _block(sentences, image.block)
    if any(sentences[s].kind == "item" for s in inside):
        return inside
    first = max((s + 1 for s in range(position) if sentences[s].heading), default=0)
    last = next((s for s in range(position, len(sentences)) if sentences[s].heading), len(sentences))
    section = [s for s in range(first, last) if sentences[s].kind != "caption"]
    items = [s for s in section if sentences[s].kind == "item"]
    before = [s for s in items if s < position]
    if before:
        return _block(sentences, sentences[before[-1]].block)
    return _block(sentences, sentences[items[0]].block) if items else section


def _caption(sentences: tuple[Sentence, ...], image: Image) -> list[int]:
    own = [s for s, one in enumerate(sentences) if one.kind == "caption" and one.block == image.block]
    if own:
        # a block of several pictures has the captions of all of them
        said = _words(f"{image.caption or ''} {image.alt or ''}")
        return [s for s in own if _words(sentences[s].text) <= said]
    wanted = _words(image.caption or "") or _words(image.alt or "")
    if len(wanted) < 2:
        return []
    position = image.position or 0
    best = max(
        ((len(wanted & _words(one.text)), -_distance(s, position), s) for s, one in enumerate(sentences)),
        default=(0, 0, 0),
    )
    shared, _, sentence = best
    return [sentence] if shared >= 2 and shared >= SHARED * len(wanted) else []


RULES: dict[LinkRule, Callable[[tuple[Sentence, ...], Image], list[int]]] = {
    "adjacent": _adjacent,
    "caption": _caption,
    "step": _step,
}


def _block(sentences: tuple[Sentence, ...], block: int | None) -> list[int]:
    """The sentences of a block, its captions left out."""
    return [s for s, one in enumerate(sentences) if one.block == block and one.kind != "caption"]


def _neighbour(sentences: tuple[Sentence, ...], position: int, step: Literal[-1, 1]) -> int | None:
    """The nearest sentence before or after a place that is no caption."""
    places: Iterator[int] = iter(range(position - 1, -1, -1) if step < 0 else range(position, len(sentences)))
    return next((s for s in places if sentences[s].kind != "caption"), None)


def _distance(sentence: int, position: int) -> int:
    """Sentences between a sentence and a place, 0 for the two beside it; above and below count the same."""
    return position - 1 - sentence if sentence < position else sentence - position


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold())) - STOP
