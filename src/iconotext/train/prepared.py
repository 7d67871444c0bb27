"""A corpus ready for training: features of every sentence and image in flat arrays on disk, mapped into memory.

Documents stand one after the other; ``*_offsets`` say where each begins. A batch touches only its own rows, so that
memory does not grow with the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from iconotext.errors import CorpusError
from iconotext.relations import RELATIONS
from iconotext.train.arrays import open_array

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

SPLITS = ("train", "validation", "test")
META = "prepared.json"


@dataclass(frozen=True, eq=False)
class Prepared:
    """Documents in arrays; D documents, N sentences, T words, M places of images, U different images, L gold links.

    Attributes:
        folder: Where they lie.
        meta: What the arrays were made from; see ``prepare``.
        id_bytes: (I,) the documents' ids in UTF-8, one after the other.
        id_offsets: (D + 1,) where each begins.
        splits: (D,) 0 train, 1 validation, 2 test.
        corpora: (D,) which of the corpora a document is from.
        sentence_offsets: (D + 1,) first sentence of each document.
        image_offsets: (D + 1,) first place of an image of each document.
        image_rows: (M,) which of the different images stands there.
        link_offsets: (D + 1,) first link of each document.
        links: (L, 2) sentence and image within the document.
        linked: (D,) whether gold links are known.
        relation_offsets: (D + 1,) first label of a coherence relation of each document.
        relations: (A, 2) which of the relations in ``meta``, and whether it holds, 1 or 0.
        images: (U, features) float16, None where images come as pixels or regions.
        views: (U, views, features) float16, further views of the images, None where there are none.
        regions: (R, features) float16, the regions of all images, None where images come otherwise.
        region_concepts: (R,) which of the concepts in ``meta`` is seen there; -1 where nothing is known.
        region_offsets: (U + 1,) first region of each image.
        sentences: (N, features) float16, None where sentences come as words.
        words: (T,) word ids, None where sentences come as vectors.
        word_offsets: (N + 1,) first word of each sentence.
    """

    folder: Path
    meta: Mapping[str, Any]
    id_bytes: NDArray[np.uint8]
    id_offsets: NDArray[np.int64]
    splits: NDArray[np.uint8]
    corpora: NDArray[np.uint16]
    sentence_offsets: NDArray[np.int64]
    image_offsets: NDArray[np.int64]
    image_rows: NDArray[np.int64]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.int32]
    linked: NDArray[np.bool_]
    relation_offsets: NDArray[np.int64]
    relations: NDArray[np.int32]
    images: NDArray[np.float16] | None
    views: NDArray[np.float16] | None
    regions: NDArray[np.float16] | None
    region_concepts: NDArray[np.int32] | None
    region_offsets: NDArray[np.int64] | None
    sentences: NDArray[np.float16] | None
    words: NDArray[np.int32] | None
    word_offsets: NDArray[np.int64] | None

    def documents(self, split: str) -> NDArray[np.int64]:
        """The numbers of the documents of a split, ascending."""
        return np.flatnonzero(np.asarray(self.splits) == SPLITS.index(split))

    @property
    def ids(self) -> Sequence[str]:
        """The documents' ids; each is read when it is asked for."""
        return _Ids(self.id_bytes, self.id_offsets)

    def links_of(self, document: int) -> tuple[tuple[int, int], ...]:
        """The gold links of a document: sentence and image, images counted without those that were left out."""
        found = self.links[self.link_offsets[document] : self.link_offsets[document + 1]]
        return tuple((sentence, image) for sentence, image in found.tolist())

    def labels(self, documents: NDArray[np.int64], relations: Sequence[str]) -> NDArray[np.float32]:
        """Whether relations hold between the text and the image of documents.

        Args:
            documents: Their numbers.
            relations: R names.

        Returns:
            (documents, R) 1 or 0; NaN where nobody answered, and in documents of more than one sentence or image.
        """
        known: list[str] = self.meta["relations"]
        columns = np.array([*(relations.index(name) if name in relations else -1 for name in known), -1])
        starts = np.asarray(self.relation_offsets[documents])
        counts = np.asarray(self.relation_offsets[documents + 1]) - starts
        rows = np.repeat(np.arange(len(documents)), counts)
        places = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        judged, holds = np.asarray(self.relations[places]).reshape(-1, 2).T
        wanted = columns[judged] >= 0
        found = np.full((len(documents), len(relations)), np.nan, np.float32)
        found[rows[wanted], columns[judged[wanted]]] = holds[wanted]
        single = (self._sizes(self.sentence_offsets, documents) == 1) & (
            self._sizes(self.image_offsets, documents) == 1
        )
        found[~single] = np.nan
        return found

    @cached_property
    def labelled_relations(self) -> list[str]:
        """Names of the relations that somebody judged in training documents, the published ones in their order."""
        known: list[str] = self.meta["relations"]
        order = {relation.name: number for number, relation in enumerate(RELATIONS)}
        judged = ~np.isnan(self.labels(self.documents("train"), known))
        named = [name for column, name in enumerate(known) if judged[:, column].any()]
        return sorted(named, key=lambda name: (order.get(name, len(order)), name))

    def linked_documents(self, split: str) -> NDArray[np.int64]:
        """Documents of a split whose gold links are known."""
        documents = self.documents(split)
        return documents[np.asarray(self.linked)[documents]]

    def relation_weights(self, relations: Sequence[str]) -> Tensor:
        """(R,) what each relation counts in the coherence objective, by its rate among the training documents."""
        key = tuple(relations)
        if key not in self._weights:
            import torch

            from iconotext.objectives import relation_weights

            labels = self.labels(self.documents("train"), relations)
            self._weights[key] = relation_weights(torch.from_numpy(labels))
        return self._weights[key]

    @cached_property
    def _weights(self) -> dict[tuple[str, ...], Tensor]:
        return {}

    def sentences_for_training(self) -> TrainingSentences:
        """The word ids of every sentence of the training documents, read as they are asked for.

        Raises:
            CorpusError: Sentences come as vectors.
        """
        if self.words is None or self.word_offsets is None:
            raise CorpusError(f"{self.folder}: has vectors of sentences and no words")
        return TrainingSentences(self)

    def all_single(self, split: str) -> bool:
        """Whether every document of a split has one sentence and one image."""
        documents = self.documents(split)
        sizes = (self._sizes(offsets, documents) for offsets in (self.sentence_offsets, self.image_offsets))
        return all(bool((size == 1).all()) for size in sizes)

    @staticmethod
    def _sizes(offsets: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(offsets[documents + 1]) - np.asarray(offsets[documents])

    @cached_property
    def image_files(self) -> tuple[str, ...]:
        """Where each of the different images is; for networks that look at pixels."""
        return tuple(json.loads((self.folder / "images.json").read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSentences:
    """Word ids, sentence by sentence; may be gone through several times."""

    prepared: Prepared

    def __iter__(self) -> Iterator[list[int]]:
        prepared = self.prepared
        assert prepared.words is not None
        assert prepared.word_offsets is not None
        for document in prepared.documents("train").tolist():
            first, end = prepared.sentence_offsets[document], prepared.sentence_offsets[document + 1]
            cuts = np.asarray(prepared.word_offsets[first : end + 1])
            words = np.asarray(prepared.words[cuts[0] : cuts[-1]])
            for part in np.split(words, cuts[1:-1] - cuts[0]):
                yield part.tolist()


@dataclass(frozen=True, slots=True, eq=False)
class _Ids(Sequence[str]):
    """Texts that stand one after the other in an array on disk."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[str]: ...
    def __getitem__(self, number: int | slice) -> str | Sequence[str]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        number %= len(self)
        return bytes(self.data[self.offsets[number] : self.offsets[number + 1]]).decode()


def open_prepared(folder: Path) -> Prepared:
    """Map the arrays that ``prepare`` wrote.

    Raises:
        CorpusError: Something is missing or damaged.
    """
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CorpusError(f"{folder}: not a prepared corpus ({error}); remove the folder and train again") from error
    names = (
        *("id_bytes", "id_offsets", "splits", "corpora", "sentence_offsets", "image_offsets", "image_rows"),
        *("link_offsets", "links", "linked", "relation_offsets", "relations"),
    )
    regions = ("regions", "region_concepts", "region_offsets")
    optional = ("images", "views", *regions, "sentences", "words", "word_offsets")
    arrays: dict[str, Any] = {name: open_array(folder / name) for name in names}
    arrays |= {name: open_array(folder / name) if name in meta["arrays"] else None for name in optional}
    return Prepared(folder, meta, **arrays)
