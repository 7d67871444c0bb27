"""A corpus ready for training: features of sentences and images in flat arrays, memory-mapped.

Documents follow each other; ``*_offsets`` are the positions where each begins. The structure of documents is in memory,
a few bytes each; a batch reads only its own rows of the features, so that memory does not grow with their number.
"""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError, FeatureError
from iconotext.recipe import Recipe
from iconotext.relations import in_order
from iconotext.system.files import open_atomic, write_text
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    from torch import Tensor

Rows = NDArray[np.int64]
"""Numbers of documents, sentences, images or links, or positions in an array."""

Files = Callable[[str], NDArray[np.uint8]]
"""A function that returns the bytes of a file of a prepared corpus, memory-mapped, by its name."""


class ArrayWriter(AbstractContextManager["ArrayWriter"]):
    """Appends rows to an array on disk; only one piece at a time is in memory.

    The numbers are written to ``NAME.bin``; dtype and shape are written to ``NAME.json`` when the writer is closed.
    """

    def __init__(self, path: Path, dtype: str, row: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.row = path, np.dtype(dtype), row
        self.rows = 0
        self._file = path.with_suffix(".bin").open("wb")

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows, (n, *row)."""
        if rows.shape[1:] != self.row:
            raise ValueError(f"{self.path.name}: rows of shape {rows.shape[1:]}, expected {self.row}")
        with np.errstate(over="ignore"):  # the error below says more than NumPy's warning
            stored = np.ascontiguousarray(rows, self.dtype)
        if self.dtype.kind == "f" and not np.isfinite(stored).all():
            raise FeatureError(
                f"{self.path.name}: a feature is not a finite number, or larger than {np.finfo(self.dtype).max:g}, the "
                "most that training keeps; scale the features down"
            )
        self._file.write(stored.tobytes())
        self.rows += len(rows)

    def __exit__(self, *error: object) -> None:
        self._file.close()
        if error[0] is None:
            head = {"dtype": self.dtype.str, "shape": [self.rows, *self.row]}
            write_text(self.path.with_suffix(".json"), json.dumps(head), force=True)


def files_in(path: Path) -> Files:
    """Open the files in a folder, or in a tar written by ``pack``; a tar is mapped only once."""
    if path.is_dir():
        return lambda name: _mapped(path / name)
    with tarfile.open(path, "r:") as tar:
        spans = {member.name: slice(member.offset_data, member.offset_data + member.size) for member in tar}
    whole = _mapped(path)
    return lambda name: whole[spans[name]]


def _mapped(path: Path) -> NDArray[np.uint8]:
    # An empty file cannot be mapped.
    return np.asarray(np.memmap(path, np.uint8, "r")) if path.stat().st_size else np.zeros(0, np.uint8)


def pack(folder: Path, path: Path) -> None:
    """Write the files of a folder into one tar, not compressed, so that it can be mapped; equal files, equal tar."""
    with open_atomic(path, force=True) as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for source in sorted(folder.iterdir()):
            member = tarfile.TarInfo(source.name)  # without times and owners
            member.size = source.stat().st_size
            with source.open("rb") as data:
                tar.addfile(member, data)


def open_array(files: Files, name: str) -> NDArray[Any]:
    """Map an array written by ``ArrayWriter``; ``ValueError`` or a similar error if it is missing or cut short."""
    head = parse_json(files(f"{name}.json").tobytes())
    array: NDArray[Any] = files(f"{name}.bin").view(head["dtype"]).reshape(head["shape"])
    return array


class Stacked:
    """Several arrays as one, row after row; rows are read when they are indexed."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self._arrays = arrays
        self._begins = np.cumsum([0, *map(len, arrays)])
        self.shape = (int(self._begins[-1]), *arrays[0].shape[1:])

    def __getitem__(self, rows: Rows) -> NDArray[Any]:
        values = np.empty((len(rows), *self.shape[1:]), self._arrays[0].dtype)
        # An empty array begins where its successor does; "right" finds the successor.
        owner = np.searchsorted(self._begins, rows, side="right") - 1
        for number in np.unique(owner):
            mask = owner == number
            values[mask] = self._arrays[number][rows[mask] - self._begins[number]]
        return values


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn errors of reading arrays into ``CorpusError``, with advice for the user."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, tarfile.TarError) as error:
        helps = "remove it, and train again" if path.is_dir() else "remove it, and make it again"
        raise CorpusError(f"{path}: damaged or missing; {helps} ({' '.join(str(error).split())})") from error


def offsets_of(counts: Iterable[int]) -> Rows:
    """Return (n + 1,) offsets of n spans of these lengths."""
    return np.cumsum([0, *counts], dtype=np.int64)


def span_counts(offsets: Rows, spans: Rows) -> Rows:
    """Return (n,) lengths of the given spans."""
    return np.asarray(offsets[spans + 1]) - np.asarray(offsets[spans])


def span_places(offsets: Rows, spans: Rows) -> Rows:
    """Return the positions of all items in the given spans, one span after the other."""
    # In the result a span begins at ends - counts; all its positions are shifted by the same distance.
    counts = span_counts(offsets, spans)
    ends = np.cumsum(counts)
    return np.repeat(np.asarray(offsets[spans]) - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def drawn_places(offsets: Rows, spans: Rows, limit: int | None, rng: np.random.Generator) -> tuple[Rows, list[int]]:
    """Draw random positions, sorted, at most ``limit`` (None: all) from each span; also return the number from each."""
    counts = span_counts(offsets, spans)
    if limit is None or counts.max(initial=0) <= limit:
        return span_places(offsets, spans), counts.tolist()
    drawn = [
        start + (np.sort(rng.permutation(count)[:limit]) if count > limit else np.arange(count))
        for start, count in zip(np.asarray(offsets[spans]), counts, strict=True)
    ]
    return np.concatenate(drawn), [len(places) for places in drawn]


SPLITS = ("train", "validation", "test")
UNDIVIDED, OTHER_BUFFER = 3, 4
"""Further values of ``Prepared.splits``: in a shard, documents that get a split only in a run; in a shuffle buffer,
documents of its shards that are not in it."""

META, IDS, DOCUMENTS, FILES = "prepared.json", "ids.json", "documents.npz", "images.json"


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
        folder: The folder or file of the arrays.
        meta: Facts about the arrays and their sources; see ``prepare``.
        ids: (D,) ids of the documents.
        splits: (D,) 0 train, 1 validation, 2 test; see also ``OTHER_BUFFER``.
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
        image_keys: (U,) equal for images with equal features, to recognise them in other shards; None without shards.
    """

    folder: Path
    meta: Mapping[str, Any]
    ids: Sequence[str]
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
    image_keys: NDArray[np.uint64] | None = None

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
        return offsets_of((np.diff(self.sentence_offsets) * np.diff(self.image_offsets)).tolist())

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

            from iconotext.objectives.coherence import relation_weights

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
    """Map the arrays written by ``prepare``, or of a shard of features."""
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


DOCUMENT_ARRAYS = (
    *("splits", "corpora", "linked", "sentence_offsets", "image_offsets", "image_rows", "link_offsets", "links"),
    *("relation_offsets", "relations"),
)
"""The arrays of ``Prepared`` in the file ``DOCUMENTS``."""


def save_documents(folder: Path, ids: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the ids of documents, and their ``DOCUMENT_ARRAYS``."""
    write_text(folder / IDS, json.dumps(ids), force=True)
    with open_atomic(folder / DOCUMENTS, force=True) as file:
        np.savez(file, allow_pickle=False, **arrays)


def joined_parts(parts: Sequence[Prepared], *, splits: Sequence[NDArray[np.uint8]], corpora: Sequence[int]) -> Prepared:
    """Join one or more corpora with the same kinds of features; ``splits`` and ``corpora`` replace those of each part.

    The features of sentences, images and regions are not copied. Images with equal ``image_keys`` become one. Relations
    are left out.
    """
    first = parts[0]
    rows, keys = _image_rows(parts)
    documents = sum(len(part.ids) for part in parts)
    features: dict[str, Any] = {
        name: _stacked([getattr(part, name) for part in parts]) for name in ("sentences", "images", "augmentations")
    }
    if first.words is not None:
        words = [part.words for part in parts if part.words is not None]
        features["words"] = Words(np.concatenate([w.ids for w in words]), _offsets([w.offsets for w in words]))
    if first.regions is not None:
        regions = [part.regions for part in parts if part.regions is not None]
        stacked = _stacked([r.features for r in regions])
        assert stacked is not None
        concepts = np.concatenate([r.concepts for r in regions])
        features["regions"] = Regions(stacked, concepts, _offsets([r.offsets for r in regions]))
    if first.posteriors is not None:
        features["posteriors"] = np.concatenate([part.posteriors for part in parts if part.posteriors is not None])
    return Prepared(
        folder=first.folder,
        meta={**first.meta, "relations": []},
        ids=[name for part in parts for name in part.ids],
        splits=np.concatenate(splits),
        corpora=np.repeat(np.array(corpora, np.uint16), [len(part.ids) for part in parts]),
        sentence_offsets=_offsets([part.sentence_offsets for part in parts]),
        image_offsets=_offsets([part.image_offsets for part in parts]),
        image_rows=rows,
        link_offsets=_offsets([part.link_offsets for part in parts]),
        links=np.concatenate([part.links for part in parts]),
        linked=np.concatenate([part.linked for part in parts]),
        relation_offsets=np.zeros(documents + 1, np.int64),
        relations=np.zeros((0, 2), np.int32),
        image_keys=keys,
        **features,
    )


def _image_rows(parts: Sequence[Prepared]) -> tuple[Rows, NDArray[np.uint64]]:
    """Return the rows of all images, with equal images at the row of the first one; and their keys."""
    all_keys = [part.image_keys for part in parts if part.image_keys is not None]
    begins = np.cumsum([0, *map(len, all_keys)])
    rows = np.concatenate([part.image_rows + begin for part, begin in zip(parts, begins, strict=False)])
    keys = np.concatenate(all_keys)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first[inverse[rows]].astype(np.int64), keys


def _offsets(parts: Sequence[Rows]) -> Rows:
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in parts]))


def _stacked(arrays: Sequence[NDArray[np.float16] | None]) -> NDArray[np.float16] | None:
    present = [array for array in arrays if array is not None]
    if len(present) < 2:
        return present[0] if present else None
    return cast("NDArray[np.float16]", Stacked(present))  # it is only indexed by rows


def extracted(part: Prepared, documents: Rows) -> Prepared:
    """Copy documents of a corpus, with their features; relations are left out."""
    sentences = span_places(part.sentence_offsets, documents)
    places = span_places(part.image_offsets, documents)
    images, rows = np.unique(part.image_rows[places], return_inverse=True)
    chosen = {"sentences": sentences} | dict.fromkeys(("images", "augmentations", "image_keys"), images)
    features: dict[str, Any] = {
        name: None if (array := getattr(part, name)) is None else array[rows_of] for name, rows_of in chosen.items()
    }
    if part.words is not None:
        ids, offsets = part.words
        features["words"] = Words(ids[span_places(offsets, sentences)], offsets_of(span_counts(offsets, sentences)))
    if part.regions is not None:
        vectors, concepts, offsets = part.regions
        region_rows = span_places(offsets, images)
        features["regions"] = Regions(
            vectors[region_rows], concepts[region_rows], offsets_of(span_counts(offsets, images))
        )
    if part.posteriors is not None:
        posteriors = [part.posterior_of(document).ravel() for document in documents.tolist()]
        features["posteriors"] = np.concatenate([np.zeros(0, np.float16), *posteriors])
    return replace(
        part,
        ids=[part.ids[document] for document in documents.tolist()],
        splits=part.splits[documents],
        corpora=part.corpora[documents],
        sentence_offsets=offsets_of(span_counts(part.sentence_offsets, documents)),
        image_offsets=offsets_of(span_counts(part.image_offsets, documents)),
        image_rows=rows.astype(np.int64),
        link_offsets=offsets_of(span_counts(part.link_offsets, documents)),
        links=part.links[span_places(part.link_offsets, documents)],
        linked=part.linked[documents],
        relation_offsets=np.zeros(len(documents) + 1, np.int64),
        relations=np.zeros((0, 2), np.int32),
        **features,
    )


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
