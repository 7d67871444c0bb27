"""Calibration figures: how sure the program was of cited figures, and whether it was right.

The table that ships has the figures of many documents whose authors cite them, each linked with weights that were
fitted without its publisher. It holds numbers only: no text, no picture, no name of a document.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from iconotext.links.caption import texts_of

if TYPE_CHECKING:
    from iconotext.types import Document, LinkedDocument


class Figure(NamedTuple):
    """A figure whose right sentences are known, and the link that was found for it.

    Attributes:
        paragraph: The link's ``paragraph``, 0 without layout.
        paragraph_right: Whether a sentence of the same block is right.
    """

    sentence: float
    sentence_right: bool
    paragraph: float
    paragraph_right: bool


Calibration = Mapping[str, Mapping[str, list[list[Figure]]]]
"""Kind of image, then class of document, to the documents of that class, each with its figures of that kind."""


def kind_of(document: Document, image: int, evidence: Collection[str]) -> str:
    """What must be the same for two figures to be compared: language, words of the image, layout, evidence."""
    fields = texts_of(document.images[image])
    words = "caption" if "caption" in fields else "alternative text or file name" if fields else "no words"
    layout = "layout" if document.has_layout else "no layout"
    kinds = [
        kind for kind in evidence if kind != "text" or document.images[image].lines
    ]  # without words in it, as ever
    return f"{document.language}, {words}, {layout}, by {'+'.join(kinds)}"


def calibration_of(linked: Iterable[tuple[str, LinkedDocument]], evidence: Collection[str]) -> Calibration:
    """The figures of documents with gold links; an image of theirs without one belongs to no sentence.

    Args:
        linked: Class and document, each image with its best sentence, however little confidence it has.
        evidence: The kinds that they were linked by.
    """
    table: dict[str, dict[str, list[list[Figure]]]] = {}
    for name, each in linked:
        if each.document.links is None:
            continue
        of_kind: dict[str, list[Figure]] = {}
        right = set(each.document.links)
        block = {number: sentence.block for number, sentence in enumerate(each.document.sentences)}
        for link in each.links:
            cited = [sentence for sentence, image in right if image == link.image]
            beside = link.paragraph is not None and any(block[i] == block[link.sentence] for i in cited)
            figure = Figure(link.confidence, link.sentence in cited, link.paragraph or 0.0, beside)
            of_kind.setdefault(kind_of(each.document, link.image, evidence), []).append(figure)
        for kind, figures in of_kind.items():
            table.setdefault(kind, {}).setdefault(name, []).append(figures)
    return table


@cache
def load_calibration() -> Calibration:
    """The figures that ship with the package."""
    text = files("iconotext.links").joinpath("calibration.json").read_text(encoding="utf-8")
    return {
        kind: {name: [[Figure(*row) for row in rows] for rows in documents] for name, documents in classes.items()}
        for kind, classes in json.loads(text).items()
    }
