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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

PICTURES = 256
"""Pictures that are encoded before they are written, about what is lost when a run is killed."""

TEXTS = 2048


def cached_text(backbone: TextBackbone, cache: FeatureCache) -> TextBackbone:
    """The same backbone, encoding only texts that are not in the cache."""
    return _CachedText(backbone, cache)


def cached_image(backbone: ImageBackbone, cache: FeatureCache) -> ImageBackbone:
    """The same backbone, encoding only pictures that are not in the cache. Problems are not kept there."""
    return _CachedImage(backbone, cache)


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


def _digests(files: Sequence[Picture], pool: ThreadPoolExecutor) -> Iterator[tuple[int, list[bytes | None]]]:
    """Where some files start, and their digests, None for one that cannot be read."""
    for start in range(0, len(files), PICTURES):
        yield start, list(pool.map(_digest, files[start : start + PICTURES]))


def _digest(file: Picture) -> bytes | None:
    if isinstance(file, bytes):
        return hashlib.sha256(file).digest()
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except (OSError, ValueError):  # the backbone will say what is wrong with it
        return None
