"""Backbones that look into the cache first; they are backbones themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, TextBackbone, blank_features
from iconotext.features.cache import FeatureCache
from iconotext.features.cores import usable_cores
from iconotext.features.regions import Regions, RegionSource
from iconotext.features.regions.row import RegionRow, joined_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix, Image

IMAGES = 256
"""Pictures that are encoded before they are written, about what is lost when a run is killed."""

TEXTS = 2048

REGION_ARRAYS = ("features", "boxes", "concepts", "scores")
"""The arrays of a picture's regions; in the cache each is of the kind ``detected/`` and its name."""


def cached_text(backbone: TextBackbone, cache: FeatureCache) -> TextBackbone:
    """The same backbone, encoding only texts that are not in the cache."""
    return _CachedText(backbone, cache)


def cached_image(backbone: ImageBackbone, cache: FeatureCache) -> ImageBackbone:
    """The same backbone, encoding only pictures that are not in the cache. Problems are not kept there."""
    return _CachedImage(backbone, cache)


def cached_regions(source: RegionSource, cache: FeatureCache) -> RegionSource:
    """The same source, looking only at pictures that are not in the cache. Problems are not kept there.

    For a source that looks at the pictures themselves: what it finds must not depend on their names.
    """
    return _CachedRegions(source, cache)


@dataclass(frozen=True, slots=True)
class _CachedText:
    backbone: TextBackbone
    cache: FeatureCache

    @property
    def name(self) -> str:
        return self.backbone.name

    @property
    def dim(self) -> int:
        return self.backbone.dim

    @property
    def space(self) -> str:
        return self.backbone.space

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), TEXTS):
            some = texts[start : start + TEXTS]
            vectors[start : start + len(some)] = self._encode(some)
        return vectors

    def _encode(self, texts: Sequence[str]) -> FloatMatrix:
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = self.cache.get(list(set(keys)), backbone=self.name, kind="text")
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, self.backbone.encode(list(missing.values())), strict=True))
            self.cache.put(fresh, backbone=self.name, kind="text")
            known |= fresh
        return np.stack([known[key] for key in keys])


@dataclass(frozen=True, slots=True)
class _CachedImage:
    backbone: ImageBackbone
    cache: FeatureCache

    @property
    def name(self) -> str:
        return self.backbone.name

    @property
    def dim(self) -> int:
        return self.backbone.dim

    @property
    def space(self) -> str:
        return self.backbone.space

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.backbone.classes

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        features = blank_features(len(files), self.dim, classes=len(self.classes or ()), regions=regions)
        arrays: dict[str, NDArray[Any]] = features.arrays()
        problems: list[str | None] = []
        with ThreadPoolExecutor(usable_cores(), thread_name_prefix="iconotext-digest") as pool:
            for start, keys in _digests(files, pool):
                problems += self._fill(arrays, start, files, keys, regions)
        return replace(features, problems=tuple(problems))

    def _fill(
        self,
        arrays: dict[str, NDArray[Any]],
        start: int,
        files: Sequence[Picture],
        keys: list[bytes | None],
        regions: bool,
    ) -> list[str | None]:
        """Fill the rows of some files, from ``start`` on, and return their problems."""
        wanted = list({key for key in keys if key is not None})
        known = {kind: self.cache.get(wanted, backbone=self.name, kind=kind) for kind in arrays}
        rows: dict[bytes, int] = {}  # of the pictures to encode; one that comes twice is encoded once
        unread: list[int] = []
        for i, key in enumerate(keys):
            if key is None:
                unread.append(i)
            elif not all(key in there for there in known.values()):
                rows.setdefault(key, i)
        problems: list[str | None] = [None] * len(keys)
        encoded = [*rows.values(), *unread]
        of_key: dict[bytes, str] = {}
        if encoded:
            fresh = self.backbone.encode([files[start + i] for i in encoded], regions=regions)
            of_key = self._store(fresh, list(rows), known)
            for i, problem in zip(encoded, fresh.problems, strict=True):
                problems[i] = problem
        for i, key in enumerate(keys):
            if key in of_key:
                problems[i] = of_key[key]
            elif key is not None:
                for kind, array in arrays.items():
                    array[start + i] = known[kind][key]
        return problems

    def _store(
        self, fresh: ImageFeatures, keys: Sequence[bytes], known: dict[str, dict[bytes, NDArray[Any]]]
    ) -> dict[bytes, str]:
        """Put the good ones of the first ``len(keys)`` into the cache and among the known; return problems by key."""
        problems = {key: problem for key, problem in zip(keys, fresh.problems, strict=False) if problem is not None}
        for kind, array in fresh.arrays().items():
            good = {key: row for key, row in zip(keys, array, strict=False) if key not in problems}
            self.cache.put(good, backbone=self.name, kind=kind)
            known[kind] |= good
        return problems


@dataclass(frozen=True, slots=True)
class _CachedRegions:
    source: RegionSource
    cache: FeatureCache

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def dim(self) -> int:
        return self.source.dim

    @property
    def concepts(self) -> tuple[str, ...] | None:
        return self.source.concepts

    def regions(self, images: Sequence[Image]) -> Regions:
        rows: list[RegionRow] = []
        problems: list[str | None] = []
        with ThreadPoolExecutor(usable_cores(), thread_name_prefix="iconotext-digest") as pool:
            for start, keys in _digests([image.file or b"" for image in images], pool):
                for row, problem in self._looked(images[start : start + len(keys)], keys):
                    rows.append(row)
                    problems.append(problem)
        return joined_rows(rows, problems, self.dim)

    def _looked(self, images: Sequence[Image], keys: Sequence[bytes | None]) -> list[tuple[RegionRow, str | None]]:
        """The regions, or the problem, of each of some images."""
        known: dict[bytes, tuple[RegionRow, str | None]] = self._known({key for key in keys if key is not None})
        first: dict[bytes | int, int] = {}  # of the pictures to look at; one that comes twice is looked at once
        for i, key in enumerate(keys):
            if key not in known:
                first.setdefault(i if key is None else key, i)
        fresh = dict(zip(first, self._fresh([images[i] for i in first.values()]), strict=True)) if first else {}
        good = {key: row for key, (row, problem) in fresh.items() if problem is None and isinstance(key, bytes)}
        for name in REGION_ARRAYS:
            arrays = {key: getattr(row, name) for key, row in good.items()}
            self.cache.put(arrays, backbone=self.name, kind=f"detected/{name}")
        return [known[key] if key in known else fresh[i if key is None else key] for i, key in enumerate(keys)]

    def _known(self, keys: set[bytes]) -> dict[bytes, tuple[RegionRow, str | None]]:
        arrays = [self.cache.get(list(keys), backbone=self.name, kind=f"detected/{name}") for name in REGION_ARRAYS]
        whole = [key for key in keys if all(key in some for some in arrays)]
        rows = {key: RegionRow(*(some[key] for some in arrays)) for key in whole}
        # Two processes that look at one picture write four arrays each; from one device to another a score may move.
        return {key: (row, None) for key, row in rows.items() if len(set(map(len, _arrays(row)))) == 1}

    def _fresh(self, images: Sequence[Image]) -> list[tuple[RegionRow, str | None]]:
        found = self.source.regions(images)
        ends = found.counts.cumsum().tolist()
        rows = [
            RegionRow(*(getattr(found, name)[end - count : end] for name in REGION_ARRAYS))
            for end, count in zip(ends, found.counts.tolist(), strict=True)
        ]
        return list(zip(rows, found.problems, strict=True))


def _arrays(row: RegionRow) -> list[NDArray[Any]]:
    return [getattr(row, name) for name in REGION_ARRAYS]


def _digests(files: Sequence[Picture], pool: ThreadPoolExecutor) -> Iterator[tuple[int, list[bytes | None]]]:
    """Where some files start, and their digests, None for one that cannot be read."""
    for start in range(0, len(files), IMAGES):
        yield start, list(pool.map(_digest, files[start : start + IMAGES]))


def _digest(file: Picture) -> bytes | None:
    if isinstance(file, bytes):
        return hashlib.sha256(file).digest()
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except (OSError, ValueError):  # the backbone will say what is wrong with it
        return None
