"""Labelled text–image pairs for a relation model, and pictures with texts that nobody labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.connected import connected
from iconotext.corpus.row import SPLITS
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext.relations import RELATIONS
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
        splits: How many of the labelled pairs are of each split; ``none`` are those of no split.
    """

    texts: list[str]
    images: list[Image]
    labels: tuple[str, ...]
    relations: int
    answers: NDArray[np.float32]
    pictures: list[tuple[Image, tuple[str, ...]]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    splits: dict[str, int] = field(default_factory=dict)


def read_relation_data(corpora: Sequence[Path], splits: Sequence[str] = SPLITS) -> RelationData:
    """Read corpora; documents with ``relations`` are labelled pairs, the pictures of the others have no labels.

    All splits are read unless some are named, those for validation and test too: published labels are few, and what is
    trained on them is judged on folds it has not seen.

    The relations are those of the papers in their order, then others that a corpus has, by name. What else was answered
    with yes or no about a pair, in its ``meta``, are labels too, but no relations.

    A picture without labels needs a file, and a text: the sentences linked with it, its caption or alternative text.

    Args:
        corpora: Corpus files.
        splits: Those to read; documents of no split are read always.

    Raises:
        CorpusError: A labelled document is not one sentence and one image, no document has labels, or a file breaks
            the format.
    """
    texts: list[str] = []
    images: list[Image] = []
    found: list[dict[str, bool | None]] = []
    others: list[dict[str, bool]] = []
    pictures: list[tuple[Image, tuple[str, ...]]] = []
    sources: list[int] = []
    counts = Counter(dict.fromkeys((*splits, "none"), 0))
    for number, path in enumerate(corpora):
        for document in read_corpus(path):
            if document.split is not None and document.split not in splits:
                continue
            labels = document.meta.get("relations")
            if labels is None:
                written = list(_written(document))
                pictures += written
                sources += [number] * len(written)
                continue
            if len(document.sentences) != 1 or len(document.images) != 1:
                raise CorpusError(
                    f"{path}, document {document.id!r}: relations need one sentence and one image, and it has "
                    f"{len(document.sentences)} and {len(document.images)}"
                )
            texts.append(document.sentences[0].text)
            images.append(document.images[0])
            found.append(labels)
            others.append({name: value for name, value in document.meta.items() if isinstance(value, bool)})
            counts[document.split or "none"] += 1
    judged = {name for labels in found for name, answer in labels.items() if answer is not None}
    if not judged:
        named = ", ".join(map(str, corpora))
        where = "" if set(SPLITS) <= set(splits) else f" in the splits {', '.join(splits)}"
        raise CorpusError(
            f"{named}: no document{where} has relations; `iconotext corpus build clue` makes a corpus that has"
        )
    known = [relation.name for relation in RELATIONS if relation.name in judged]
    relations = (*known, *sorted(judged - set(known)))
    further = sorted({name for answers in others for name in answers} - judged)
    answers = np.array(
        [
            [*map(labels.get, relations), *map(more.get, further)]
            for labels, more in zip(found, others, strict=True)
        ],
        np.float32,
    )  # fmt: skip
    names = (*relations, *further)
    return RelationData(texts, images, names, len(relations), answers, pictures, sources, dict(counts))


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
    keys = (
        (("text", " ".join(text.casefold().split())), ("picture", image.source))
        for text, image in zip(texts, images, strict=True)
    )
    return np.array(connected(keys), np.int64)


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
