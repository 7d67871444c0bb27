"""Joins prepared corpora, or extracts documents from one, without reading more than necessary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from iconotext.train.arrays import Stacked
from iconotext.train.prepared import Prepared, Regions, Words, offsets_of, span_counts, span_places

if TYPE_CHECKING:
    from numpy.typing import NDArray


def joined(parts: Sequence[Prepared], *, splits: Sequence[NDArray[np.uint8]], corpora: Sequence[int]) -> Prepared:
    """Join several corpora into one, with the kinds of features that the first one has.

    The features of sentences, images and regions are not copied. Images with equal ``image_keys`` become one. Relations
    are left out.

    Args:
        parts: At least one.
        splits: ``Prepared.splits`` to use, for each part.
        corpora: ``Prepared.corpora`` to use, for each part.
    """
    first = parts[0]
    rows, keys = _image_rows(parts)
    documents = sum(len(part.ids) for part in parts)
    features: dict[str, Any] = {
        name: _stacked([getattr(part, name) for part in parts]) for name in ("sentences", "images", "views")
    }
    if first.words is not None:
        words = [part.words for part in parts if part.words is not None]
        features["words"] = Words(np.concatenate([each.ids for each in words]), _offsets([e.offsets for e in words]))
    if first.regions is not None:
        regions = [part.regions for part in parts if part.regions is not None]
        stacked = _stacked([each.features for each in regions])
        assert stacked is not None
        concepts = np.concatenate([each.concepts for each in regions])
        features["regions"] = Regions(stacked, concepts, _offsets([each.offsets for each in regions]))
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


def _image_rows(parts: Sequence[Prepared]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The rows of all images, with equal images at the row of the first one; and their keys."""
    own = [part.image_keys for part in parts if part.image_keys is not None]
    begins = np.cumsum([0, *map(len, own)])
    rows = np.concatenate([part.image_rows + begin for part, begin in zip(parts, begins, strict=False)])
    keys = np.concatenate(own)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first[inverse[rows]].astype(np.int64), keys


def _offsets(each: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in each]))


def _stacked(arrays: Sequence[NDArray[np.float16] | None]) -> NDArray[np.float16] | None:
    there = [each for each in arrays if each is not None]
    if len(there) < 2:
        return there[0] if there else None
    return cast("NDArray[np.float16]", Stacked(there))  # it is only indexed by rows


def extracted(part: Prepared, documents: NDArray[np.int64]) -> Prepared:
    """Some documents of a corpus, with copies of their features; relations are left out."""
    sentences = span_places(part.sentence_offsets, documents)
    places = span_places(part.image_offsets, documents)
    images, rows = np.unique(part.image_rows[places], return_inverse=True)
    features: dict[str, Any] = {}
    for name, chosen in (("sentences", sentences), ("images", images), ("views", images), ("image_keys", images)):
        there = getattr(part, name)
        features[name] = None if there is None else there[chosen]
    if part.words is not None:
        ids, offsets = part.words
        features["words"] = Words(ids[span_places(offsets, sentences)], offsets_of(span_counts(offsets, sentences)))
    if part.regions is not None:
        vectors, concepts, offsets = part.regions
        wanted = span_places(offsets, images)
        features["regions"] = Regions(vectors[wanted], concepts[wanted], offsets_of(span_counts(offsets, images)))
    if part.posteriors is not None:
        own = [part.posterior_of(document).ravel() for document in documents.tolist()]
        features["posteriors"] = np.concatenate([np.zeros(0, np.float16), *own])
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
