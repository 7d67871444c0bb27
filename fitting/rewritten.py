"""Texts without pictures whose right places are known: pages, rewritten by rules as a summary would.

``rewritten`` applies one of ``CHANGES`` to pages with gold links. A sentence of the result knows which sentences of
which page it comes from, so the sentence, the paragraph and the section that a picture belongs to are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.evidence.labels import unlabelled
from iconotext.types import Document, Image, Sentence

SECTION = 5
"""Paragraphs of a section, where a page has no headings."""

LEAST_WORDS = 6
"""Words of a main clause at least, so that no sentence is cut to pieces."""

_ASIDE = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_CLAUSE = re.compile(
    r"\s*(?:[;:—–]|,\s+(?:which|who|whose|where|when|while|whereas|although|though|because|since|so that|as|if|and|but"
    r"|or|nor|yet|so|with|including|such as|\w+ing)\b)",
)
_MARK = re.compile(
    r"\s*[(\[]?\b(?:see\s+)?(?:figures?|figs?\.?|plates?|tables?)\s+\d+(?:[.\-–]\d+)*[a-h]?[)\]]?", re.IGNORECASE
)


class Origin(NamedTuple):
    """Where a sentence of a rewritten text comes from: numbers of the page, and within it."""

    page: int
    section: int
    block: int
    sentence: int


@dataclass(frozen=True, slots=True, eq=False)
class Rewritten:
    """A text without headings, and the pictures of its pages, which have no place in it.

    Attributes:
        document: S sentences, V images; its ``links`` are unknown.
        origins: (S,) of each sentence.
        gold: (V,) of each image, where its gold sentences stood.
        original: (V,) page and number of each image.
    """

    document: Document
    origins: tuple[Origin, ...]
    gold: tuple[frozenset[Origin], ...]
    original: tuple[tuple[int, int], ...]

    def right(self, part: Callable[[Origin], object]) -> NDArray[np.bool_]:
        """(S, V) whether sentence and image belong together; ``part`` says what must be the same."""
        own = [part(origin) for origin in self.origins]
        wanted = [{part(origin) for origin in gold} for gold in self.gold]
        return np.array([[each in some for some in wanted] for each in own], np.bool_).reshape(len(own), len(wanted))


def whole_sentence(origin: Origin) -> object:
    return origin


def paragraph(origin: Origin) -> object:
    return origin.page, origin.block


def section(origin: Origin) -> object:
    return origin.page, origin.section


def origins(page: int, document: Document) -> list[Origin]:
    """Where each sentence stands: a section begins at a heading, or without any after ``SECTION`` paragraphs."""
    headed = any(sentence.heading for sentence in document.sentences)
    found, number, blocks = [], -1, 0
    before: int | None = None
    for n, sentence in enumerate(document.sentences):
        block = n if sentence.block is None else sentence.block
        if block != before:
            blocks += 1
            if sentence.heading or number < 0 or (not headed and blocks > SECTION):
                number, blocks = number + 1, 1
        before = block
        found.append(Origin(page, number, block, n))
    return found


def shortened(text: str) -> str:
    """The main clause of a sentence by a rule: without what stands in brackets, up to the first subordinate clause."""
    bare = _ASIDE.sub("", text)
    for match in _CLAUSE.finditer(bare):
        if len(bare[: match.start()].split()) >= LEAST_WORDS:
            return bare[: match.start()].rstrip(" ,") + "."
    return bare


Rows = list[tuple[Origin, str]]


def _halved(rows: Rows, rng: np.random.Generator) -> Rows:
    return rows[int(rng.integers(2)) :: 2] or rows


def _reordered(rows: Rows, rng: np.random.Generator) -> Rows:
    sections: dict[object, Rows] = {}
    for row in rows:
        sections.setdefault(section(row[0]), []).append(row)
    order = list(sections.values())
    return [row for k in rng.permutation(len(order)) for row in order[k]]


def _merged(rows: Rows, rng: np.random.Generator) -> Rows:
    """The sections of the pages in turn: the first of each page, the second of each, ..."""
    return sorted(rows, key=lambda row: (row[0].section, row[0].page, row[0].sentence))


def _short(rows: Rows, rng: np.random.Generator) -> Rows:
    return [(origin, shortened(text)) for origin, text in rows]


def _all(rows: Rows, rng: np.random.Generator) -> Rows:
    return _short(_reordered(_halved(rows, rng), rng), rng)


CHANGES: Mapping[str, Callable[[Rows, np.random.Generator], Rows]] = {
    "half of the sentences": _halved,
    "sections in another order": _reordered,
    "two pages merged": _merged,
    "main clauses only": _short,
    "all of these": _all,
}
"""What is done to a page, besides taking out pictures, headings, and the marks of citations."""

OF_TWO = frozenset(("two pages merged", "all of these"))
"""The changes of two pages together."""


def rewritten(pages: Sequence[Document], change: str, seed: int) -> Rewritten:
    """Rewrite pages; their images come with caption and alternative text, without number."""
    rng = np.random.default_rng(seed)
    where = [origins(number, page) for number, page in enumerate(pages)]
    rows: Rows = [
        (origin, _MARK.sub("", sentence.text) or sentence.text)
        for own, page in zip(where, pages, strict=True)
        for origin, sentence in zip(own, page.sentences, strict=True)
        if not sentence.heading
    ]
    rows = CHANGES[change](rows, rng)
    blocks: dict[object, int] = {}
    sentences = [Sentence(text, blocks.setdefault(paragraph(origin), len(blocks))) for origin, text in rows]
    images, gold, original = [], [], []
    for number, page in enumerate(pages):
        for j, image in enumerate(page.images):
            own = frozenset(where[number][i] for i, k in page.links or () if k == j)
            if own:
                images.append(without_place(image))
                gold.append(own)
                original.append((number, j))
    document = Document(f"{pages[0].id} {change}", tuple(sentences), tuple(images), language=pages[0].language)
    return Rewritten(document, tuple(origin for origin, _ in rows), tuple(gold), tuple(original))


def without_place(image: Image) -> Image:
    """The image as it comes from elsewhere: without its place, and without the number of its caption."""
    caption = None if image.caption is None else unlabelled(image.caption) or None
    return replace(image, caption=caption, block=None, position=None, anchors=(), at=None)
