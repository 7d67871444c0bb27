"""Backbones with a cache: wrappers that encode only the texts and images that are not stored yet.

Begin with ``cached_text`` and ``cached_image``; ``cached_lines`` wraps a reader of text lines.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from iconotext.features.backbone import ImageBackbone, ImageFeatures, Picture, Row, TextBackbone, blank_features, filled
from iconotext.features.cache import FeatureCache
from iconotext.features.languages import readers_of
from iconotext.features.ocr import LineReader
from iconotext.system.files import content_digest
from iconotext.types import TextLine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

T = TypeVar("T")
ReadLayers: TypeAlias = Callable[[Sequence[str], "NDArray[np.float16]"], None]

IMAGES = 256
"""Images that are encoded before they are written; about as many are lost when a run is killed."""

TEXTS = 2048
"""Texts that are looked up, encoded and stored together."""


def cached_text(
    backbone: TextBackbone, cache: FeatureCache, *, kind: str = "text", read_layers: ReadLayers | None = None
) -> TextBackbone:
    """Make a text backbone encode only texts that are not in the cache.

    Args:
        read_layers: Called with the texts that are encoded and the layers' outputs, if the backbone provides them, so
            that other users of the layers need not encode the texts again.
    """

    def fresh(texts: list[str]) -> list[Row]:
        if read_layers is None or backbone.with_layers is None:
            vectors = backbone.encode(texts)
        else:
            vectors, layers = backbone.with_layers(texts)
            read_layers(texts, layers)
        return [{kind: vector} for vector in vectors]

    def encode(texts: Sequence[str]) -> FloatMatrix:
        vectors = np.zeros((len(texts), backbone.dim), np.float32)
        for number, row in enumerate(_recall(cache, backbone.name, [kind], texts, _text_digest, fresh, TEXTS)):
            vectors[number] = row[kind]  # type: ignore[index]  # a text has no problem
        return vectors

    other = None if backbone.other is None else cached_text(backbone.other, cache, kind=kind)
    return replace(backbone, encode=encode, other=other)


def store_texts(
    cache: FeatureCache, texts: Sequence[str], vectors: FloatMatrix, *, backbone: str, kind: str = "text"
) -> None:
    """Put vectors of texts into the cache, under the backbone's name and the kind that ``cached_text`` looks up."""
    rows: dict[bytes, Row] = {_text_digest(text): {kind: vector} for text, vector in zip(texts, vectors, strict=True)}
    cache.put(rows, backbone=backbone, kinds=[kind])


def encoded_once(backbone: TextBackbone, texts: Iterable[tuple[str, str | None]]) -> TextBackbone:
    """Make a text backbone that has the vectors of these texts in memory, each encoded once, all in one batch.

    Args:
        texts: Each with the language of its document, as for ``encode_texts``.
    """
    of_reader: dict[str, dict[str, int]] = {}
    for text, language in dict.fromkeys(texts):
        for reader in readers_of(backbone, text, language):
            rows = of_reader.setdefault(reader.name, {})
            rows.setdefault(text, len(rows))

    def remembered(reader: TextBackbone) -> TextBackbone:
        other = None if reader.other is None else remembered(reader.other)
        rows = of_reader.get(reader.name)
        if not rows:
            return replace(reader, other=other)
        vectors = reader.encode(list(rows))

        def encode(queries: Sequence[str]) -> FloatMatrix:
            if any(text not in rows for text in queries):
                return reader.encode(queries)
            return vectors[[rows[text] for text in queries]]

        return replace(reader, encode=encode, other=other)

    return remembered(backbone)


def cached_image(backbone: ImageBackbone, cache: FeatureCache) -> ImageBackbone:
    """Make an image backbone encode only images that are not in the cache. Problems are not stored."""

    def encode(files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        def fresh(batch: list[Picture]) -> list[Row | str]:
            features = backbone.encode(batch, regions=regions)
            rows = [{kind: array[i] for kind, array in features.arrays().items()} for i in range(len(features))]
            return [problem or row for row, problem in zip(rows, features.problems, strict=True)]

        blank = blank_features(len(files), backbone.dim, classes=len(backbone.classes or ()), regions=regions)
        return filled(blank, _recall(cache, backbone.name, list(blank.arrays()), files, _digest, fresh, IMAGES))

    return replace(backbone, encode=encode)


def cached_lines(reader: LineReader, cache: FeatureCache) -> LineReader:
    """Make a reader of text lines read only images that are not in the cache. Problems are not stored."""

    def fresh(files: list[Picture]) -> list[Row | str]:
        return [lines if isinstance(lines, str) else {"lines": _packed(lines)} for lines in reader.read(files)]

    def read(files: Sequence[Picture]) -> list[tuple[TextLine, ...] | str]:
        rows = _recall(cache, reader.name, ["lines"], files, _digest, fresh, IMAGES)
        return [row if isinstance(row, str) else _unpacked(row["lines"]) for row in rows]

    return replace(reader, read=read)


def _packed(lines: tuple[TextLine, ...]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps([(line.text, line.confidence, line.box) for line in lines]).encode(), np.uint8)


def _unpacked(packed: NDArray[np.uint8]) -> tuple[TextLine, ...]:
    return tuple(TextLine(text, sure, tuple(box)) for text, sure, box in json.loads(packed.tobytes()))


def _recall(
    cache: FeatureCache,
    backbone: str,
    kinds: Sequence[str],
    items: Sequence[T],
    digest: Callable[[T], bytes | None],
    fresh: Callable[[list[T]], Sequence[Row | str]],
    batch: int,
) -> Iterator[Row | str]:
    """Yield the stored or new row of each text or image, or its problem.

    Args:
        digest: Returns the digest of an item; None for a file that cannot be read: the backbone reports the reason.
        fresh: Called with the items that are not in the cache, without repetitions; returns rows or problems.
        batch: Number of items that are looked up, and stored, together.
    """
    for start in range(0, len(items), batch):
        part = items[start : start + batch]
        # Files that cannot be read have no digest, but may have different problems: each is named by its number.
        names = [number if (key := digest(item)) is None else key for number, item in enumerate(part)]
        stored = cache.get([name for name in {*names} if isinstance(name, bytes)], backbone=backbone, kinds=kinds)
        rows: dict[bytes | int, Row | str] = dict(stored.items())
        missing: dict[bytes | int, T] = {}
        for name, item in zip(names, part, strict=True):
            if name not in rows:
                missing.setdefault(name, item)
        new = dict(zip(missing, fresh(list(missing.values())), strict=True)) if missing else {}
        good = {name: row for name, row in new.items() if isinstance(name, bytes) and not isinstance(row, str)}
        cache.put(good, backbone=backbone, kinds=kinds)
        rows |= new
        yield from (rows[name] for name in names)


def _text_digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _digest(file: Picture) -> bytes | None:
    try:
        return content_digest(file)
    except (OSError, ValueError):  # the backbone reports the reason
        return None
