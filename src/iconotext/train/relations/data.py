"""Labelled text–image pairs for a relation model, and pictures with texts that nobody labelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.relations import RELATIONS
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class RelationData:
    """What a relation model is trained on.

    Attributes:
        texts: N labelled texts.
        images: The picture of each; its file may be missing.
        labels: Names of the K things that were judged: the relations first, then what else there are answers to.
        relations: How many of the labels are relations.
        answers: (N, K) float32: 1 yes, 0 no, NaN not answered.
        pictures: Pictures without labels that are there, and the texts written about each.
        sources: Number of the corpus that each of these came from.
    """

    texts: list[str]
    images: list[Image]
    labels: tuple[str, ...]
    relations: int
    answers: NDArray[np.float32]
    pictures: list[tuple[Image, tuple[str, ...]]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)


def read_relation_data(corpora: Sequence[Path]) -> RelationData:
    """Read corpora; documents with ``relations`` are labelled pairs, the pictures of the others have no labels.

    What else was answered with yes or no about a pair, in its ``meta``, are labels too, but no relations.

    A picture without labels needs a file, and a text: the sentences linked with it, its caption or alternative text.

    Raises:
        CorpusError: A labelled document is not one sentence and one image, no document has labels, or a file breaks
            the format.
    """
    texts: list[str] = []
    images: list[Image] = []
    found: list[dict[str, bool | None]] = []
    pictures: list[tuple[Image, tuple[str, ...]]] = []
    sources: list[int] = []
    for number, path in enumerate(corpora):
        for document in read_corpus(path):
            labels = document.meta.get("relations")
            if labels is None:
                written = list(_written(document))
                pictures += written
                sources += [number] * len(written)
                continue
            if len(document.sentences) != 1 or len(document.images) != 1:
                raise CorpusError(
                    f"{path}, document {document.id!r}: relations are of one sentence and one image, it has "
                    f"{len(document.sentences)} and {len(document.images)}"
                )
            texts.append(document.sentences[0].text)
            images.append(document.images[0])
            found.append({name: value for name, value in document.meta.items() if isinstance(value, bool)} | labels)
    judged = {name for labels in found for name, answer in labels.items() if answer is not None}
    relations = [relation.name for relation in RELATIONS if relation.name in judged]
    if not relations:
        named = ", ".join(map(str, corpora))
        raise CorpusError(f"{named}: no document has relations; `iconotext corpus build clue` makes a corpus that has")
    names = (*relations, *sorted(judged - set(relations)))
    answers = np.full((len(found), len(names)), np.nan, np.float32)
    for row, labels in enumerate(found):
        for column, name in enumerate(names):
            answer = labels.get(name)
            if answer is not None:
                answers[row, column] = answer
    return RelationData(texts, images, names, len(relations), answers, pictures, sources)


def _written(document: Document) -> Iterable[tuple[Image, tuple[str, ...]]]:
    """The pictures that are there, with the texts written about each."""
    linked: dict[int, list[str]] = {}
    for sentence, number in document.links or ():
        linked.setdefault(number, []).append(document.sentences[sentence].text)
    for number, image in enumerate(document.images):
        texts = [*linked.get(number, []), *(text for text in (image.caption, image.alt) if text)]
        if image.file is not None and image.problem is None and texts:
            yield image, tuple(dict.fromkeys(texts))


def groups_of(texts: Sequence[str], images: Sequence[Image]) -> NDArray[np.int64]:
    """(n,) numbers, equal for pairs that share their text or their picture, directly or over other pairs.

    Upper and lower case and white space make no other text; the address names the picture.
    """
    parent = list(range(len(texts)))

    def root(pair: int) -> int:
        while parent[pair] != pair:
            parent[pair] = parent[parent[pair]]
            pair = parent[pair]
        return pair

    first: dict[tuple[str, str], int] = {}
    for pair, (text, image) in enumerate(zip(texts, images, strict=True)):
        for key in (("text", " ".join(text.casefold().split())), ("picture", image.source)):
            parent[root(pair)] = root(first.setdefault(key, pair))
    return np.array([root(pair) for pair in range(len(texts))], np.int64)


def folds_of(groups: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    """(n,) part 0 to folds - 1 of each pair; a group stays in one, and the parts are about equally large.

    Large groups are dealt first, each to the smallest part so far; among groups of one size chance decides.
    """
    numbers, counts = np.unique(groups, return_counts=True)
    shuffled = np.random.default_rng(seed).permutation(len(numbers))
    sizes = np.zeros(folds, np.int64)
    part: dict[int, int] = {}
    for group in shuffled[np.argsort(-counts[shuffled], kind="stable")]:
        smallest = int(sizes.argmin())
        part[int(numbers[group])] = smallest
        sizes[smallest] += counts[group]
    return np.array([part[int(group)] for group in groups], np.int64)
