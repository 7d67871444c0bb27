"""A corpus of text-image pairs as arrays (``PairVectors``), which ``pair_vectors`` makes to measure retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.corpus.image_files import ImageKeys
from iconotext.errors import CorpusError
from iconotext.relations import in_order
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoders.encoder import Encoder
    from iconotext.types import FloatMatrix

BATCH = 512
"""Pairs that are encoded at a time."""


class Pair(NamedTuple):
    """A text and its image.

    Attributes:
        id: The document's id if it is the only pair; else with sentence and image, ``id/sentence/image``.
        relations: Name to whether text and image have the relation; None without an answer.
    """

    id: str
    text: str
    image: Image
    relations: Mapping[str, bool | None]


class LeftOut(NamedTuple):
    """A document or pair that is left out, with the reason."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class PairVectors:
    """P pairs of a text and one of M different images.

    Attributes:
        ids: Names of the pairs; see ``Pair``.
        texts: The P sentences.
        text_vectors: (P, dim) float32 unit rows.
        images: The M images; for repeated pictures the first one.
        image_vectors: (M, dim) float32 unit rows.
        image_of: (P,) number of each pair's image.
        relations: R names, of relations for which any pair has an answer.
        labels: (P, R): 1 if the pair has the relation, 0 if not, NaN without an answer.
        left_out: Documents and pairs that are left out.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    text_vectors: FloatMatrix
    images: tuple[Image, ...]
    image_vectors: FloatMatrix
    image_of: NDArray[np.intp]
    relations: tuple[str, ...]
    labels: NDArray[np.float64]
    left_out: tuple[LeftOut, ...]


def pairs_of(document: Document, *, from_file: bool = False) -> Iterator[Pair | LeftOut]:
    """The pairs of a document: its gold links, or its sentence and its image if it has one of each.

    With ``from_file`` images need no file. Repeated links count once. Labels of relations are used only for documents
    with a single pair.
    """
    links = document.links
    if links is None and len(document.sentences) == len(document.images) == 1:
        links = ((0, 0),)
    if links is None:
        yield LeftOut(document.id, "the gold links are unknown")
        return
    if not links:
        yield LeftOut(document.id, "it has no gold link")
        return
    links = tuple(dict.fromkeys(links))
    relations = document.meta.get("relations") if len(links) == 1 else None
    for sentence, image in links:
        identifier = document.id if len(links) == 1 else f"{document.id}/{sentence}/{image}"
        picture = document.images[image]
        if not from_file and (picture.problem is not None or picture.file is None):
            yield LeftOut(identifier, f"its picture is {picture.problem or 'not a file'}")
        else:
            yield Pair(identifier, document.sentences[sentence].text, picture, relations or {})


def pair_vectors(encoder: Encoder, documents: Iterable[Document]) -> PairVectors:
    """Encode the pairs of a corpus.

    Pictures with the same bytes are one image, whatever their names. A pair whose picture cannot be read is left out,
    and the picture is no candidate.
    """
    left_out: list[LeftOut] = []
    keys = ImageKeys()
    numbers: dict[bytes, int] = {}
    pictures: list[Image] = []
    problems: list[str | None] = []
    pairs: list[Pair] = []
    image_of: list[int] = []
    of_texts, of_images = [np.zeros((0, encoder.dim), np.float32)], [np.zeros((0, encoder.dim), np.float32)]
    iterator = _pairs(documents, left_out, from_file=encoder.image_source.from_file)
    while batch := list(islice(iterator, BATCH)):
        encoded = len(pictures)
        for pair in batch:
            number = numbers.setdefault(keys.of(pair.image), len(pictures))
            if number == len(pictures):
                pictures.append(pair.image)
            image_of.append(number)
        pairs += batch
        of_texts.append(encoder.encode_sentences([pair.text for pair in batch]))
        if len(pictures) > encoded:
            new = encoder.encode_images(pictures[encoded:])
            of_images.append(new.vectors)
            problems += new.problems
    readable = np.array([problem is None for problem in problems], np.bool_)
    usable = readable[image_of] if image_of else np.zeros(0, np.bool_)
    for pair, number in zip(pairs, image_of, strict=True):
        if problems[number] is not None:
            left_out.append(LeftOut(pair.id, f"its picture cannot be read: {problems[number]}"))
    if not usable.any():
        why = f": {left_out[0].id!r} is left out, because {left_out[0].reason}" if left_out else ""
        raise CorpusError(f"there is no pair of a text and its picture{why}")
    pairs = list(compress(pairs, usable))
    relations, labels = _labels(pairs)
    return PairVectors(
        ids=tuple(pair.id for pair in pairs),
        texts=tuple(pair.text for pair in pairs),
        text_vectors=np.concatenate(of_texts)[usable],
        images=tuple(compress(pictures, readable)),
        image_vectors=np.concatenate(of_images)[readable],
        image_of=(np.cumsum(readable) - 1)[np.array(image_of)[usable]],  # numbers among the images that are left
        relations=relations,
        labels=labels,
        left_out=tuple(left_out),
    )


def _pairs(documents: Iterable[Document], left_out: list[LeftOut], *, from_file: bool) -> Iterator[Pair]:
    """Yield all pairs; documents and pairs without one are added to ``left_out``."""
    for document in documents:
        for pair in pairs_of(document, from_file=from_file):
            if isinstance(pair, LeftOut):
                left_out.append(pair)
            else:
                yield pair


def _labels(pairs: Sequence[Pair]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the names of the relations with answers, the papers' first and in their order, and the labels."""
    labelled = {name for pair in pairs for name, value in pair.relations.items() if value is not None}
    names = tuple(in_order(labelled))
    values = {True: 1.0, False: 0.0, None: np.nan}
    rows = [[values[pair.relations.get(name)] for name in names] for pair in pairs]
    return names, np.array(rows, np.float64).reshape(len(pairs), len(names))
