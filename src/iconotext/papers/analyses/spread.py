"""Documents of high, middle and low spread, also without known links (Hessel 2019, section 6, Fig. 5).

The paper shows an article that was "chosen for its high image/text spread", with the links of object detection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iconotext.errors import CorpusError
from iconotext.evaluate.results import Scored
from iconotext.papers.analyses.difficulty import spread, vectors_seen
from iconotext.papers.analyses.object_detection import detected_in, encoded_classes

if TYPE_CHECKING:
    from iconotext.encoder import Encoder
    from iconotext.types import Document

LEVELS = ("high", "middle", "low")


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of a document's images, and of its sentences, 0 to 1."""

    id: str
    image: float
    text: float

    @property
    def both(self) -> float:
        """Their sum, by which documents are sorted."""
        return self.image + self.text


def spreads(documents: Iterable[Document], encoder: Encoder) -> Iterator[Spread]:
    """The spread of each document with at least two readable images.

    Args:
        documents: With or without gold links.
        encoder: Its text backbone encodes sentences, the pooled features of its image backbone are the images' vectors.
    """
    for document in filter(lambda each: each.sentences, documents):
        images, sentences = vectors_seen(document, encoder)
        if len(images) > 1:
            yield Spread(document.id, spread(images), spread(sentences))


def by_level(found: Sequence[Spread], count: int) -> list[tuple[str, Spread]]:
    """``count`` documents each of the highest, middle and lowest spread, each once; ``CorpusError`` for none."""
    if not found:
        raise CorpusError("no document has two pictures that can be seen, so none has a spread")
    ordered = sorted(found, key=lambda each: (-each.both, each.id))
    middle = max(0, (len(ordered) - count) // 2)
    places = (range(count), range(middle, middle + count), range(len(ordered) - count, len(ordered)))
    chosen: dict[str, tuple[str, Spread]] = {}
    for level, own in zip(LEVELS, places, strict=True):
        for each in (ordered[place] for place in own if 0 <= place < len(ordered)):
            chosen.setdefault(each.id, (level, each))
    return list(chosen.values())


def detected(documents: Iterable[Document], encoder: Encoder, k: int) -> Iterator[Scored]:
    """Object detection's scores for documents, with k class names per image; ``FeatureError`` without a classifier."""
    classes = encoded_classes(encoder)
    for document in documents:
        yield Scored(document.id, detected_in(document, encoder, classes, k)[0][k - 1], document.links)
