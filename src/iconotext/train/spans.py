"""Spans of a long array, one after the other; ``offsets`` says where each begins, and behind the last where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


def offsets_of(counts: Iterable[int]) -> Rows:
    """(n + 1,) offsets of n spans of these lengths."""
    return np.cumsum([0, *counts], dtype=np.int64)


def span_counts(offsets: Rows, spans: Rows) -> Rows:
    """(n,) lengths of some spans."""
    return np.asarray(offsets[spans + 1]) - np.asarray(offsets[spans])


def span_places(offsets: Rows, spans: Rows) -> Rows:
    """The places of all that stands in some spans, one after the other."""
    counts = span_counts(offsets, spans)
    ends = np.cumsum(counts)
    return np.repeat(np.asarray(offsets[spans]) - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def drawn_places(offsets: Rows, spans: Rows, limit: int | None, rng: np.random.Generator) -> tuple[Rows, list[int]]:
    """The places of what is drawn from some spans, in their order, and how many of each.

    Args:
        limit: Most that is drawn from one; None for all.
    """
    counts = span_counts(offsets, spans)
    if limit is None or counts.max(initial=0) <= limit:
        return span_places(offsets, spans), counts.tolist()
    pieces = [
        start + (np.sort(rng.permutation(count)[:limit]) if count > limit else np.arange(count))
        for start, count in zip(np.asarray(offsets[spans]), counts, strict=True)
    ]
    return np.concatenate(pieces), [len(piece) for piece in pieces]
