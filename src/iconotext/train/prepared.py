"""A corpus ready for training: features of sentences and images in flat arrays, memory-mapped.

Documents follow each other; ``*_offsets`` are the positions where each begins. A batch reads only its own rows, so that
memory does not grow with the number of documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError
from iconotext.recipe import Recipe
from iconotext.relations import in_order
from iconotext.system.strict_json import parse_json
from iconotext.train.arrays import Rows, damaged, open_array, span_counts, span_places

if TYPE_CHECKING:
    from torch import Tensor

SPLITS = ("train", "validation", "test")
META, FILES = "arrays.json", "images.json"

DOCUMENT_ARRAYS = (
    *("ids", "id_offsets", "splits", "corpora", "linked", "sentence_offsets", "image_offsets", "image_rows"),
    *("link_offsets", "links", "relation_offsets", "relations"),
)
"""Arrays with the structure of documents, in every prepared corpus; the ids are bytes of UTF-8."""


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """Ids of documents in one array of UTF-8; each becomes a text only when it is asked for."""

    utf_8: NDArray[np.uint8]
    offsets: Rows

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, document: int) -> str:
        id_ = self.utf_8[self.offsets[document] : self.offsets[document + 1]]
        return id_.tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[document] for document in range(len(self)))


class Words(NamedTuple):
    """Sentences as words: (T,) ids, and the (N + 1,) first word of each sentence."""

    ids: NDArray[np.int32]
    offsets: Rows


class Regions(NamedTuple):
    """Images as regions.

    Attributes:
        features: (R, features) float16.
        concepts: (R,) number of the concept in ``Prepared.meta`` that the region shows; -1 if unknown.
        offsets: (U + 1,) first region of each image.
    """

    features: NDArray[np.float16]
    concepts: NDArray[np.int32]
    offsets: Rows


@dataclass(frozen=True, eq=False)
class Prepared:
    """Documents in arrays: D documents, N sentences, M image places, U different images, L gold links.

    Attributes:
        folder: The folder of the arrays.
        meta: Facts about the arrays and their sources; see ``prepare``.
        ids: (D,) ids of the documents.
        splits: (D,) 0 train, 1 validation, 2 test.
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
        words: Words of the sentences; None if sentences are vectors.
        images: (U, features) float16; None if images are pixels or regions.
        augmentations: (U, augmentations, features) float16, further augmentations of the images; None without any.
        regions: Regions of the images; None if images are not regions.
        posteriors: float16, each document's (S, V) probabilities by captions, layout and references, row by row, one
            document after the other; None if no objective uses them.
    """

    folder: Path
    meta: Mapping[str, Any]
    ids: Ids
    splits: NDArray[np.uint8]
    corpora: NDArray[np.uint16]
    sentence_offsets: Rows
    image_offsets: Rows
    image_rows: Rows
    link_offsets: Rows
    links: NDArray[np.int32]
    linked: NDArray[np.bool_]
    relation_offsets: Rows
    relations: NDArray[np.int32]
    sentences: NDArray[np.float16] | None = None
    words: Words | None = None
    images: NDArray[np.float16] | None = None
    augmentations: NDArray[np.float16] | None = None
    regions: Regions | None = None
    posteriors: NDArray[np.float16] | None = None

    def documents(self, split: str) -> Rows:
        """Return the numbers of the documents of a split, ascending."""
        return np.flatnonzero(self.splits == SPLITS.index(split))

    def linked_documents(self, split: str) -> Rows:
        """Return the numbers of a split's documents whose gold links are known."""
        documents = self.documents(split)
        return documents[self.linked[documents]]

    def all_single(self, split: str) -> bool:
        """Tell whether every document of a split has one sentence and one image."""
        return bool(self._single(self.documents(split)).all())

    def links_of(self, document: int) -> tuple[tuple[int, int], ...]:
        """Return the gold links of a document as (sentence, image); images are numbered without those left out."""
        links = self.links[self.link_offsets[document] : self.link_offsets[document + 1]]
        return tuple((sentence, image) for sentence, image in links.tolist())

    def labels(self, documents: Rows, relations: Sequence[str]) -> NDArray[np.float32]:
        """Return (documents, R) labels of relations: 1, 0, or NaN if not labelled or the document is no single pair."""
        names: list[str] = self.meta["relations"]
        # The last -1 is never looked up: it makes an array of integers where there are no names.
        columns = np.array([*(relations.index(name) if name in relations else -1 for name in names), -1])
        rows = np.repeat(np.arange(len(documents)), span_counts(self.relation_offsets, documents))
        judged, holds = self.relations[span_places(self.relation_offsets, documents)].reshape(-1, 2).T
        usable = columns[judged] >= 0
        labels = np.full((len(documents), len(relations)), np.nan, np.float32)
        labels[rows[usable], columns[judged[usable]]] = holds[usable]
        labels[~self._single(documents)] = np.nan
        return labels

    def posterior_of(self, document: int) -> NDArray[np.float16]:
        """Return the (S, V) probability that a sentence belongs to an image, by evidence other than the picture."""
        if self.posteriors is None:
            raise CorpusError(f"{self.folder}: prepared without posteriors; remove the folder and train again")
        begin, end = self._posterior_offsets[document : document + 2]
        images = self.image_offsets[document + 1] - self.image_offsets[document]
        return np.asarray(self.posteriors[begin:end]).reshape(-1, images)

    @cached_property
    def _posterior_offsets(self) -> Rows:
        return np.append(0, np.cumsum(np.diff(self.sentence_offsets) * np.diff(self.image_offsets)))

    @cached_property
    def labelled_relations(self) -> list[str]:
        """Names of the relations labelled in training documents; the relations of the papers first, in their order."""
        names: list[str] = self.meta["relations"]
        judged = ~np.isnan(self.labels(self.documents("train"), names))
        return in_order(name for column, name in enumerate(names) if judged[:, column].any())

    def relation_weights(self, relations: Sequence[str]) -> Tensor:
        """Return the (R,) weight of each relation in the coherence objective, from its rate in training documents."""
        key = tuple(relations)
        if key not in self._weights:
            import torch

            from iconotext.objectives.within import relation_weights

            labels = self.labels(self.documents("train"), relations)
            self._weights[key] = relation_weights(torch.from_numpy(labels))
        return self._weights[key]

    @cached_property
    def _weights(self) -> dict[tuple[str, ...], Tensor]:
        return {}

    @cached_property
    def image_files(self) -> tuple[str, ...]:
        """The file of each different image, for networks that read pixels."""
        with damaged(self.folder):
            return tuple(map(str, parse_json((self.folder / FILES).read_bytes())))

    def _single(self, documents: Rows) -> NDArray[np.bool_]:
        sentences, images = (span_counts(offsets, documents) for offsets in (self.sentence_offsets, self.image_offsets))
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
    """Return the names of the relations that a model of the recipe predicts; none without the coherence objective."""
    return (recipe.objective.relations or prepared.labelled_relations) if recipe.objective.coherence else []


def open_prepared(path: Path) -> Prepared:
    """Map the arrays written by ``prepare``."""
    with damaged(path):
        meta = parse_json((path / META).read_bytes())
        opened: dict[str, Any] = {name: open_array(path, name) for name in (*DOCUMENT_ARRAYS, *meta["arrays"])}
    opened["ids"] = Ids(opened["ids"], opened.pop("id_offsets"))
    if "words" in opened:
        opened["words"] = Words(opened["words"], opened.pop("word_offsets"))
    if "regions" in opened:
        opened["regions"] = Regions(opened["regions"], opened.pop("region_concepts"), opened.pop("region_offsets"))
    return Prepared(path, meta, **opened)


class LabelledPairs(NamedTuple):
    """L gold links of documents.

    Attributes:
        documents: (L,) number of each link's document, in the order given.
        sentences: (L,) sentence within the document.
        images: (L,) image within the document.
        negative_mask: (L, L) bool, [i, j] whether sentence i and image j, and sentence j and image i, are from
            documents without a common image, or from one document and not linked.
    """

    documents: Rows
    sentences: Rows
    images: Rows
    negative_mask: NDArray[np.bool_]


def labelled_documents(prepared: Prepared, recipe: Recipe, split: str) -> Rows:
    """Return the documents of a split with gold links; for training, only the recipe's share of them."""
    documents = prepared.documents(split)
    counts = span_counts(prepared.link_offsets, documents)
    documents = documents[counts > 0]
    if split == "train" and recipe.training.labelled < 1:
        # One order for all shares: a larger share includes a smaller one.
        order = np.random.default_rng([recipe.seed, 4]).permutation(documents)
        documents = np.sort(order[: round(recipe.training.labelled * len(order))])
    if len(documents) < 2:
        share = f", of which training.labelled takes {recipe.training.labelled:g}" if split == "train" else ""
        raise CorpusError(
            f"labelled-pairs need two or more {split} documents with gold links; there are {int((counts > 0).sum())}"
            f"{share}"
        )
    return documents


def labelled_pairs(prepared: Prepared, documents: Rows, negative_mask: NDArray[np.bool_]) -> LabelledPairs:
    """Return all gold links of (D,) documents, given the (D, D) mask of documents without a common image."""
    links = [prepared.links_of(document) for document in documents.tolist()]
    place = np.repeat(np.arange(len(documents)), [len(document_links) for document_links in links])
    pairs = np.array([link for document_links in links for link in document_links], np.int64).reshape(-1, 2)
    apart = negative_mask[place][:, place]
    for where in range(len(documents)):
        rows = np.flatnonzero(place == where)
        linked = np.zeros(pairs[rows].max(axis=0, initial=0) + 1, bool)
        linked[pairs[rows, 0], pairs[rows, 1]] = True
        crosswise = linked[pairs[rows, 0]][:, pairs[rows, 1]]  # [i, j]: sentence i and image j
        apart[np.ix_(rows, rows)] = ~(crosswise | crosswise.T)
    return LabelledPairs(documents[place], pairs[:, 0], pairs[:, 1], apart)
