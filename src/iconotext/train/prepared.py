"""A corpus ready for training: features of every sentence and image in flat arrays on disk, memory-mapped.

Documents follow each other; ``*_offsets`` say where each begins. The structure of documents is in memory, a few bytes
each; a batch reads only its own rows of the features, so that memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.errors import CorpusError
from iconotext.relations import in_order
from iconotext.strict_json import parse_json
from iconotext.train.arrays import damaged, files_in, open_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from torch import Tensor

    from iconotext.recipe import Recipe

    Rows = NDArray[np.int64]


def offsets_of(counts: Iterable[int]) -> Rows:
    """(n + 1,) offsets of n spans of these lengths."""
    return np.cumsum([0, *counts], dtype=np.int64)


def span_counts(offsets: Rows, spans: Rows) -> Rows:
    """(n,) lengths of the given spans."""
    return np.asarray(offsets[spans + 1]) - np.asarray(offsets[spans])


def span_places(offsets: Rows, spans: Rows) -> Rows:
    """The positions of all items in the given spans, one span after the other."""
    counts = span_counts(offsets, spans)
    ends = np.cumsum(counts)
    return np.repeat(np.asarray(offsets[spans]) - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def drawn_places(offsets: Rows, spans: Rows, limit: int | None, rng: np.random.Generator) -> tuple[Rows, list[int]]:
    """Random positions from the given spans, sorted, at most ``limit`` (None: all) from each; and how many of each."""
    counts = span_counts(offsets, spans)
    if limit is None or counts.max(initial=0) <= limit:
        return span_places(offsets, spans), counts.tolist()
    pieces = [
        start + (np.sort(rng.permutation(count)[:limit]) if count > limit else np.arange(count))
        for start, count in zip(np.asarray(offsets[spans]), counts, strict=True)
    ]
    return np.concatenate(pieces), [len(piece) for piece in pieces]


SPLITS = ("train", "validation", "test")
UNDIVIDED, NOT_HERE = 3, 4
"""Further values of ``Prepared.splits``: in a shard, documents that get a split only in a run; in a window of the
training documents, those that are in another window."""

META, IDS, DOCUMENTS, FILES = "prepared.json", "ids.json", "documents.npz", "images.json"


class Words(NamedTuple):
    """Sentences as words: (T,) ids, and the (N + 1,) first word of each sentence."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]


class Regions(NamedTuple):
    """Images as regions.

    Attributes:
        features: (R, features) float16.
        concepts: (R,) number of the concept in ``Prepared.meta`` that the region shows; -1 if unknown.
        offsets: (U + 1,) first region of each image.
    """

    features: NDArray[np.float16]
    concepts: NDArray[np.int32]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Documents in arrays: D documents, N sentences, M image places, U different images, L gold links.

    Attributes:
        meta: What the arrays were made from; see ``prepare``.
        ids: (D,) of the documents.
        splits: (D,) 0 train, 1 validation, 2 test; see also ``NOT_HERE``.
        corpora: (D,) number of each document's corpus.
        sentence_offsets: (D + 1,) first sentence of each document.
        image_offsets: (D + 1,) first image place of each document.
        image_rows: (M,) number of the image at each place, among the different images.
        link_offsets: (D + 1,) first link of each document.
        links: (L, 2) sentence and image within the document.
        linked: (D,) whether gold links are known.
        relation_offsets: (D + 1,) first relation label of each document.
        relations: (A, 2) number of the relation in ``meta``, and whether it holds, 1 or 0.
        sentences: (N, features) float16; None if sentences are words.
        words: None if sentences are vectors.
        images: (U, features) float16; None if images are pixels or regions.
        views: (U, views, features) float16, further views of the images; None without any.
        regions: None if images are not regions.
        posteriors: float16, each document's (S, V) probabilities by captions, layout and references, row by row, one
            document after the other; None if no objective uses them.
        image_keys: (U,) equal for images with equal features, to recognise them in other shards; None without shards.
    """

    folder: Path
    meta: Mapping[str, Any]
    ids: Sequence[str]
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
    sentences: NDArray[np.float16] | None = None
    words: Words | None = None
    images: NDArray[np.float16] | None = None
    views: NDArray[np.float16] | None = None
    regions: Regions | None = None
    posteriors: NDArray[np.float16] | None = None
    image_keys: NDArray[np.uint64] | None = None

    def documents(self, split: str) -> NDArray[np.int64]:
        """The numbers of the documents of a split, ascending."""
        return np.flatnonzero(self.splits == SPLITS.index(split))

    def linked_documents(self, split: str) -> NDArray[np.int64]:
        """The numbers of a split's documents whose gold links are known."""
        documents = self.documents(split)
        return documents[self.linked[documents]]

    def all_single(self, split: str) -> bool:
        """Whether every document of a split has one sentence and one image."""
        return bool(self._single(self.documents(split)).all())

    def links_of(self, document: int) -> tuple[tuple[int, int], ...]:
        """The gold links of a document as (sentence, image); images are numbered without those left out."""
        found = self.links[self.link_offsets[document] : self.link_offsets[document + 1]]
        return tuple((sentence, image) for sentence, image in found.tolist())

    def labels(self, documents: NDArray[np.int64], relations: Sequence[str]) -> NDArray[np.float32]:
        """Whether relations hold between the text and the image of documents.

        Args:
            relations: R names.

        Returns:
            (documents, R) 1 or 0; NaN if not labelled, and for documents with several sentences or images.
        """
        known: list[str] = self.meta["relations"]
        columns = np.array([*(relations.index(name) if name in relations else -1 for name in known), -1])
        rows = np.repeat(np.arange(len(documents)), span_counts(self.relation_offsets, documents))
        judged, holds = self.relations[span_places(self.relation_offsets, documents)].reshape(-1, 2).T
        wanted = columns[judged] >= 0
        found = np.full((len(documents), len(relations)), np.nan, np.float32)
        found[rows[wanted], columns[judged[wanted]]] = holds[wanted]
        found[~self._single(documents)] = np.nan
        return found

    def posterior_of(self, document: int) -> NDArray[np.float16]:
        """(S, V) probability that a sentence belongs to an image, by evidence other than the picture.

        Raises:
            CorpusError: No posteriors were prepared.
        """
        if self.posteriors is None:
            raise CorpusError(f"{self.folder}: prepared without posteriors; remove the folder and train again")
        begin, end = self._posterior_offsets[document : document + 2]
        images = self.image_offsets[document + 1] - self.image_offsets[document]
        return np.asarray(self.posteriors[begin:end]).reshape(-1, images)

    @cached_property
    def _posterior_offsets(self) -> NDArray[np.int64]:
        return offsets_of((np.diff(self.sentence_offsets) * np.diff(self.image_offsets)).tolist())

    @cached_property
    def labelled_relations(self) -> list[str]:
        """Names of the relations labelled in training documents; those of the papers first, in their order."""
        known: list[str] = self.meta["relations"]
        judged = ~np.isnan(self.labels(self.documents("train"), known))
        return in_order(name for column, name in enumerate(known) if judged[:, column].any())

    def relation_weights(self, relations: Sequence[str]) -> Tensor:
        """(R,) weight of each relation in the coherence objective, from its rate among the training documents."""
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

    @cached_property
    def image_files(self) -> tuple[str, ...]:
        """The file of each different image; for networks that read pixels."""
        with damaged(self.folder):
            return tuple(map(str, parse_json((self.folder / FILES).read_bytes())))

    def _single(self, documents: NDArray[np.int64]) -> NDArray[np.bool_]:
        sentences, images = (span_counts(each, documents) for each in (self.sentence_offsets, self.image_offsets))
        return np.equal(sentences, 1) & np.equal(images, 1)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSentences:
    """Word ids of every sentence of the training documents; can be iterated several times."""

    prepared: Prepared
    words: Words

    def __iter__(self) -> Iterator[list[int]]:
        offsets = self.prepared.sentence_offsets
        for document in self.prepared.documents("train").tolist():
            cuts = np.asarray(self.words.offsets[offsets[document] : offsets[document + 1] + 1])
            words = np.asarray(self.words.ids[cuts[0] : cuts[-1]])
            for part in np.split(words, cuts[1:-1] - cuts[0]):
                yield part.tolist()


def learned_relations(recipe: Recipe, prepared: Prepared) -> list[str]:
    """Names of the relations that a model of the recipe predicts, in order; none without the coherence objective."""
    return (recipe.objective.relations or prepared.labelled_relations) if recipe.objective.coherence else []


def open_prepared(path: Path) -> Prepared:
    """Map the arrays of ``prepare``, or of a shard of features; ``CorpusError`` if they are damaged."""
    with damaged(path):
        files = files_in(path)
        meta = parse_json(files(META).tobytes())
        ids = parse_json(files(IDS).tobytes())
        with np.load(BytesIO(files(DOCUMENTS).tobytes()), allow_pickle=False) as stored:
            documents: dict[str, Any] = dict(stored)
        opened: dict[str, Any] = {name: open_array(files, name) for name in meta["arrays"]}
    if "words" in opened:
        opened["words"] = Words(opened["words"], opened.pop("word_offsets"))
    if "regions" in opened:
        opened["regions"] = Regions(opened["regions"], opened.pop("region_concepts"), opened.pop("region_offsets"))
    return Prepared(path, meta, ids, **documents, **opened)
