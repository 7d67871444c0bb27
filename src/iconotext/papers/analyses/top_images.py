"""A page with the images that models find best for some texts, side by side (Alikhani 2021, Fig. 1, 6, 7, 9 and 10).

With each text stand its own image and the labels of their relations; with each model the place of that
image, what the model tells of the relations, and where it has attention, how much each word counts. The page is one
file that asks the network for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.evaluate.retrieval import ranks_of
from iconotext.papers.analyses.searches import Search, best_images
from iconotext.plain_text import readable
from iconotext.report.embedded import embed
from iconotext.report.page import filled

if TYPE_CHECKING:
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.library.refinement import Refinement
    from iconotext.papers.analyses.attention import WordWeight

IMAGE_SIDE = 240
"""Pixels of the longer side of a picture on the page."""

_SHADES = 9

Attention = Callable[[str], "Sequence[WordWeight]"]
"""The words of a text and their weights."""


class Found(NamedTuple):
    """What a model found for a text.

    Attributes:
        images: Numbers of the best images, best first.
        similarities: Of those, refined or not.
        rank: Place of the text's own image among all, from 1; of equal ones the mean.
        relations: Relation to its probability for the text and its own image; empty where the model tells none.
        words: How much each word counts; empty where the model has no attention over words.
        refinement: Of the similarities; None where they are cosines.
    """

    model: str
    images: tuple[int, ...]
    similarities: tuple[float, ...]
    rank: float
    relations: Mapping[str, float]
    words: Sequence[WordWeight]
    refinement: Refinement | None


class Asked(NamedTuple):
    """A text, the relations for which it was drawn, and what the models found for it."""

    number: int
    relations: tuple[str, ...]
    found: tuple[Found, ...]


def ask(
    searches: Sequence[Search],
    chosen: Mapping[int, tuple[str, ...]],
    attention: Mapping[str, Attention],
    *,
    count: int = 5,
) -> list[Asked]:
    """Let models look for the images of some texts among all images of a corpus.

    Args:
        chosen: Number of each text to the relations for which it was drawn.
        attention: Name of each model that has it to its attention.
    """
    numbers = np.array(list(chosen), np.intp)
    by_model = [_found(search, numbers, attention.get(search.model), count) for search in searches]
    return [
        Asked(number, chosen[number], found) for number, found in zip(chosen, zip(*by_model, strict=True), strict=True)
    ]


def _found(search: Search, numbers: np.ndarray[Any, Any], attention: Attention | None, count: int) -> list[Found]:
    pairs, coherence = search.pairs, search.encoder.coherence
    images = np.arange(len(pairs.pictures))
    best, values = best_images(search.score, numbers, images, count)
    found = []
    for row, number in enumerate(numbers.tolist()):
        own = pairs.image_of[[number]]
        rank = ranks_of(search.score(numbers[[row]], images), own).mean[0]
        relations: dict[str, float] = {}
        if coherence is not None:
            probabilities = coherence.probabilities(pairs.texts[[number]], pairs.images[own])[0, 0]
            relations = dict(zip(coherence.relations, probabilities.tolist(), strict=True))
        words = [] if attention is None else attention(pairs.text[number])
        ranked = (tuple(best[row].tolist()), tuple(values[row].tolist()), float(rank))
        found.append(Found(search.model, *ranked, relations, words, search.refinement))
    return found


def top_images_page(asked: Sequence[Asked], pairs: PairVectors, *, corpus: str, drawn: str) -> str:
    """A whole HTML page with a part for each text; ``drawn`` is a sentence that says how they were chosen."""
    wanted = {int(pairs.image_of[each.number]) for each in asked}
    wanted |= {image for each in asked for found in each.found for image in found.images}
    shown = embed(pairs.pictures, sorted(wanted), longer_side=IMAGE_SIDE)
    pictures = {
        number: {"name": readable(PurePath(pairs.pictures[number].source).name), "embedded": embedded}
        for number, embedded in shown.items()
    }
    return filled(
        "iconotext.papers.analyses",
        "top_images.html",
        title=f"Best pictures: {readable(corpus)}",
        styles=["examples.css", "top_images.css"],
        corpus=readable(corpus),
        drawn=drawn,
        candidates=len(pairs.pictures),
        pictures=pictures,
        parts=[_part(each, pairs) for each in asked],
    )


def _part(asked: Asked, pairs: PairVectors) -> dict[str, Any]:
    """What the template shows of a text."""
    number, own = asked.number, int(pairs.image_of[asked.number])
    labels = pairs.labels[number]
    return {
        "identifier": readable(pairs.ids[number]),
        "text": readable(pairs.text[number]),
        "own": own,
        "drawn_for": asked.relations,
        "holds": [name for name, label in zip(pairs.relations, labels.tolist(), strict=True) if label == 1],
        "found": [_model(found, own) for found in asked.found],
        "words": _words(asked.found),
    }


def _model(found: Found, own: int) -> dict[str, Any]:
    return {
        "model": readable(found.model),
        "rank": f"{found.rank:g}",
        "refinement": found.refinement,
        "relations": sorted(found.relations.items(), key=lambda each: -each[1]),
        "images": [
            {"number": image, "similarity": similarity, "right": image == own}
            for image, similarity in zip(found.images, found.similarities, strict=True)
        ],
    }


def _words(found: Sequence[Found]) -> list[dict[str, Any]]:
    """The attention of each model that has it, its highest weight in the darkest shade (Fig. 7)."""
    rows = []
    for each in found:
        highest = max((word.weight for word in each.words), default=0.0)
        cells = [
            {
                "word": readable(word.word) if word.known else f"({readable(word.word)})",
                "weight": word.weight,
                "shade": min(_SHADES - 1, int(word.weight / highest * _SHADES)),
            }
            for word in each.words
        ]
        if cells:
            rows.append({"model": readable(each.model), "words": cells})
    return rows
