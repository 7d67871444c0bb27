"""Prepared corpora joined into one without copying their features, and documents copied out of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from iconotext.train.arrays import Rows, offsets_of, span_counts, span_places
from iconotext.train.prepared import Prepared, Regions, Words


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
