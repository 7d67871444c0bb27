"""Backbones that look into the cache first; they are backbones themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, TextBackbone, blank_features
from iconotext.features.cache import FeatureCache
from iconotext.features.cores import in_threads
from iconotext.features.regions import Regions, RegionSource
from iconotext.features.regions.regions import REGION_ARRAYS, RegionRow, empty_row, joined_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix, Image

IMAGES = 256
"""Images that are encoded before they are written, about what is lost when a run is killed."""

TEXTS = 2048

Entry = Mapping[str, "NDArray[Any]"]
"""What is kept of one text or image: its arrays, by the kinds under which the cache has them."""

Encode = Callable[[list[int]], Sequence[Entry | str]]
"""From numbers of texts or images to what is to be kept of each, or why it cannot be read."""


def cached_text(backbone: TextBackbone, cache: FeatureCache, *, kind: str = "text") -> TextBackbone:
    """The same backbone, encoding only texts that are not in the cache, which has them as of a ``kind``."""
    return _CachedText(backbone, cache, kind)


def cached_image(backbone: ImageBackbone, cache: FeatureCache) -> ImageBackbone:
    """The same backbone, encoding only images that are not in the cache. Problems are not kept there."""
    return _CachedImage(backbone, cache)


def cached_regions(source: RegionSource, cache: FeatureCache) -> RegionSource:
    """The same source, looking only at images that are not in the cache. Problems are not kept there.

    For a source that looks at the images themselves: what it finds must not depend on their names.
    """
    return _CachedRegions(source, cache)


class _CachedText:
    def __init__(self, backbone: TextBackbone, cache: FeatureCache, kind: str) -> None:
        self.name, self.dim, self.space = backbone.name, backbone.dim, backbone.space
        self._backbone, self._cache, self._kind = backbone, cache, kind

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        vectors = np.zeros((len(texts), self.dim), np.float32)

        def encode(numbers: list[int]) -> list[Entry]:
            return [{self._kind: vector} for vector in self._backbone.encode([texts[i] for i in numbers])]

        for start in range(0, len(texts), TEXTS):
            some = texts[start : start + TEXTS]
            keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in some]
            for i, entry in enumerate(_recall(self._cache, self.name, [self._kind], keys, start, encode), start):
                vectors[i] = entry[self._kind]  # type: ignore[index]  # a text always has a vector
        return vectors


class _CachedImage:
    def __init__(self, backbone: ImageBackbone, cache: FeatureCache) -> None:
        self.name, self.dim, self.space, self.classes = backbone.name, backbone.dim, backbone.space, backbone.classes
        self._backbone, self._cache = backbone, cache

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        features = blank_features(len(files), self.dim, classes=len(self.classes or ()), regions=regions)
        arrays: dict[str, NDArray[Any]] = features.arrays()
        problems: list[str | None] = [None] * len(files)

        def encode(numbers: list[int]) -> list[Entry | str]:
            fresh = self._backbone.encode([files[i] for i in numbers], regions=regions)
            rows = [{kind: array[i] for kind, array in fresh.arrays().items()} for i in range(len(fresh))]
            return [problem or row for row, problem in zip(rows, fresh.problems, strict=True)]

        for start, keys in _keys(files):
            for i, entry in enumerate(_recall(self._cache, self.name, list(arrays), keys, start, encode), start):
                if isinstance(entry, str):
                    problems[i] = entry
                    continue
                for kind, array in arrays.items():
                    array[i] = entry[kind]
        return replace(features, problems=tuple(problems))


class _CachedRegions:
    """In the cache each array of an image's regions is of the kind ``detected/`` and its name."""

    def __init__(self, source: RegionSource, cache: FeatureCache) -> None:
        self.name, self.dim, self.concepts = source.name, source.dim, source.concepts
        self._source, self._cache = source, cache

    def regions(self, images: Sequence[Image]) -> Regions:
        kinds = {f"detected/{name}": name for name in REGION_ARRAYS}
        rows: list[RegionRow] = []
        problems: list[str | None] = []

        def encode(numbers: list[int]) -> list[Entry | str]:
            found = self._source.regions([images[i] for i in numbers])
            entries = [{kind: getattr(row, name) for kind, name in kinds.items()} for row in found.rows()]
            return [problem or entry for entry, problem in zip(entries, found.problems, strict=True)]

        for start, keys in _keys([image.file or b"" for image in images]):
            for entry in _recall(self._cache, self.name, list(kinds), keys, start, encode, whole=_same_length):
                problems.append(entry if isinstance(entry, str) else None)
                rows.append(_row(entry, self.dim))
        return joined_rows(rows, problems, self.dim)


def _row(entry: Entry | str, dim: int) -> RegionRow:
    if isinstance(entry, str):
        return empty_row(dim)
    return RegionRow(*(entry[f"detected/{name}"] for name in REGION_ARRAYS))


def _recall(
    cache: FeatureCache,
    backbone: str,
    kinds: Sequence[str],
    keys: Sequence[bytes | None],
    start: int,
    encode: Encode,
    *,
    whole: Callable[[Entry], bool] = lambda entry: True,
) -> list[Entry | str]:
    """What is kept of each of some texts or images, or its problem.

    Args:
        cache: Gets what was not there.
        backbone: Its name.
        kinds: Of the arrays.
        keys: Of each its digest; None for a file that cannot be read, of which the backbone will say why.
        start: Number of the first.
        encode: Called with the numbers of those that are not in the cache, each digest once.
        whole: Whether arrays that the cache has belong together.
    """
    wanted = list({key for key in keys if key is not None})
    stored = [cache.get(wanted, backbone=backbone, kind=kind) for kind in kinds]
    found: dict[bytes | int, Entry | str] = {}
    for key in wanted:
        entry = {kind: some[key] for kind, some in zip(kinds, stored, strict=True) if key in some}
        if len(entry) == len(kinds) and whole(entry):
            found[key] = entry
    names = [i if key is None else key for i, key in enumerate(keys, start)]
    missing: dict[bytes | int, int] = {}
    for i, name in enumerate(names, start):
        if name not in found:
            missing.setdefault(name, i)
    fresh = dict(zip(missing, encode(list(missing.values())), strict=True)) if missing else {}
    good = {name: entry for name, entry in fresh.items() if isinstance(name, bytes) and not isinstance(entry, str)}
    for kind in kinds:
        cache.put({key: entry[kind] for key, entry in good.items()}, backbone=backbone, kind=kind)
    found |= fresh
    return [found[name] for name in names]


def _same_length(entry: Entry) -> bool:
    """Two processes that look at one image write four arrays each; from one device to another a score may move."""
    return len(set(map(len, entry.values()))) == 1


def _keys(files: Sequence[Picture]) -> Iterator[tuple[int, list[bytes | None]]]:
    """Where some files start, and their digests, None for one that cannot be read."""
    for start in range(0, len(files), IMAGES):
        yield start, list(in_threads(_digest, files[start : start + IMAGES]))


def _digest(file: Picture) -> bytes | None:
    if isinstance(file, bytes):
        return hashlib.sha256(file).digest()
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except (OSError, ValueError):  # the backbone will say what is wrong with it
        return None
