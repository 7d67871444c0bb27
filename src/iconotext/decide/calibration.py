"""Calibration figures: figures whose right sentences are known, with the confidence of their best link.

``calibration_of`` computes them from documents with gold links; ``load_calibration`` reads the table in the package.
That table comes from documents whose authors cite their figures. Each document was linked with weights fitted without
its publisher. The table holds numbers only: no text, no picture, no document name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from iconotext.decide.combine import has_places
from iconotext.evidence.caption import texts_of

if TYPE_CHECKING:
    from iconotext.types import Document, LinkedDocument


class Figure(NamedTuple):
    """A figure whose right sentences are known, with its best link.

    Attributes:
        sentence_right: Whether the link's sentence is right.
        paragraph: The link's ``paragraph``, 0 without layout.
        paragraph_right: Whether any sentence of the link's block is right.
    """

    sentence: float
    sentence_right: bool
    paragraph: float
    paragraph_right: bool


Calibration = Mapping[str, Mapping[str, list[list[Figure]]]]
"""Kind of image (``kind_of``) to class of document to a list of documents, each a list of its figures of that kind."""


def kind_of(document: Document, number: int, evidence: Collection[str]) -> str:
    """Return the kind of an image, by language, texts of the image, layout and evidence.

    Images are compared only with calibration figures of the same kind.
    """
    image = document.images[number]
    fields = texts_of(image)
    words = "caption" if "caption" in fields else "alternative text or file name" if fields else "no words"
    layout = "layout" if has_places(document) else "no layout"
    # An image without words counts as if OCR evidence were off, and one without a context likewise.
    absent = {kind for kind, data in (("ocr", image.lines), ("context", image.context)) if not data}
    kinds = [kind for kind in evidence if kind not in absent]
    return f"{document.language}, {words}, {layout}, by {'+'.join(kinds)}"


def calibration_of(linked: Iterable[tuple[str, LinkedDocument]], evidence: Collection[str]) -> Calibration:
    """Return the calibration figures of documents with gold links; an image without a gold link belongs to no sentence.

    Args:
        linked: Class and document, each image linked to its best sentence, whatever the confidence.
    """
    table: dict[str, dict[str, list[list[Figure]]]] = {}
    for name, each in linked:
        if each.document.links is None:
            continue
        figures_of_kind: dict[str, list[Figure]] = {}
        right = set(each.document.links)
        block = {number: sentence.block for number, sentence in enumerate(each.document.sentences)}
        for link in each.links:
            cited = [sentence for sentence, image in right if image == link.image]
            beside = link.paragraph is not None and any(block[i] == block[link.sentence] for i in cited)
            figure = Figure(link.confidence, link.sentence in cited, link.paragraph or 0.0, beside)
            figures_of_kind.setdefault(kind_of(each.document, link.image, evidence), []).append(figure)
        for kind, figures in figures_of_kind.items():
            table.setdefault(kind, {}).setdefault(name, []).append(figures)
    return table


@cache
def load_calibration() -> Calibration:
    """Return the calibration figures in the package."""
    text = files("iconotext.decide").joinpath("calibration.json").read_text(encoding="utf-8")
    return {
        kind: {name: [[Figure(*row) for row in rows] for rows in documents] for name, documents in classes.items()}
        for kind, classes in json.loads(text).items()
    }
