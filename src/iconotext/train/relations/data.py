"""The data of a relation model: labelled pairs, their folds, and images with texts but without labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.row import SPLITS
from iconotext.corpus.split import connected
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext.relations import in_order
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


class DescribedImage(NamedTuple):
    """An unlabelled image whose file exists, with the texts about it and the number of its corpus."""

    image: Image
    texts: tuple[str, ...]
    source: int


@dataclass(frozen=True, slots=True, eq=False)
class RelationData:
    """The training data of a relation model.

    Attributes:
        texts: N labelled texts.
        images: (N) the image of each text; its file may be missing.
        relations: Names of the R labelled relations.
        answers: (N, R) float32: 1 yes, 0 no, NaN not answered.
        described: Images without labels.
        splits: Number of labelled pairs of each split; ``none`` for pairs without a split.
    """

    texts: list[str]
    images: list[Image]
    relations: tuple[str, ...]
    answers: FloatMatrix
    described: list[DescribedImage]
    splits: dict[str, int]


def read_relation_data(corpora: Sequence[Path], splits: Sequence[str] = SPLITS) -> RelationData:
    """Read corpora; documents with ``relations`` are labelled pairs, all others give images without labels.

    By default all splits are read, also those for validation and test: published labels are few, and the model is
    evaluated by cross-validation. Relations are ordered as in the papers; others follow by name. An image without
    labels needs a file and a text: its linked sentences, its caption or its alternative text.

    Raises:
        CorpusError: A labelled document does not have exactly one sentence and one image, no document has labels, or a
            file breaks the format.
    """
    texts: list[str] = []
    images: list[Image] = []
    labelled: list[Mapping[str, bool | None]] = []
    described: list[DescribedImage] = []
    counts = Counter(dict.fromkeys((*splits, "none"), 0))
    for number, path in enumerate(corpora):
        for document in read_corpus(path):
            if document.split is not None and document.split not in splits:
                continue
            labels = document.meta.get("relations")
            if labels is None:
                described += _described(document, number)
                continue
            if len(document.sentences) != 1 or len(document.images) != 1:
                raise CorpusError(
                    f"{path}, document {document.id!r}: relations need one sentence and one image, and it has "
                    f"{len(document.sentences)} and {len(document.images)}"
                )
            texts.append(document.sentences[0].text)
            images.append(document.images[0])
            labelled.append(labels)
            counts[document.split or "none"] += 1
    judged = {name for labels in labelled for name, answer in labels.items() if answer is not None}
    if not judged:
        names = ", ".join(map(str, corpora))
        where = "" if set(SPLITS) <= set(splits) else f" in the splits {', '.join(splits)}"
        raise CorpusError(
            f"{names}: no document{where} has relations; `iconotext papers build clue` makes a corpus that has"
        )
    relations = tuple(in_order(judged))
    answers = np.array([[labels.get(name) for name in relations] for labels in labelled], np.float32)
    return RelationData(texts, images, relations, answers, described, dict(counts))


def _described(document: Document, source: int) -> Iterable[DescribedImage]:
    """Yield the images of a document whose files exist, with the texts about each."""
    linked: dict[int, list[str]] = {}
    for sentence, number in document.links or ():
        linked.setdefault(number, []).append(document.sentences[sentence].text)
    for number, image in enumerate(document.images):
        texts = [*linked.get(number, []), *(text for text in (image.caption, image.alt) if text)]
        if image.file is not None and image.problem is None and texts:
            yield DescribedImage(image, tuple(dict.fromkeys(texts)), source)


def groups_of(texts: Sequence[str], images: Sequence[Image]) -> NDArray[np.int64]:
    """Group pairs that share their text or image, directly or through other pairs.

    Texts are compared without case and white space, images by address.
    """
    keys = (
        (("text", " ".join(text.casefold().split())), ("picture", image.source))
        for text, image in zip(texts, images, strict=True)
    )
    return np.array(connected(keys), np.int64)


def folds_of(groups: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    """Divide pairs into folds of about equal size, without splitting groups.

    The largest groups are assigned first, each to the smallest fold so far; groups of equal size come in random order.
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
