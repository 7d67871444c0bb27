"""Multimodal C4 (Zhu et al. 2023): web pages of C4 with their images, from its shards.

The links are the data set's own, an assignment of images to sentences by CLIP similarities; they are not gold links.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic import Field

from iconotext.corpus.builders.shards import Picture, ShardedSet, ShardSettings, shard_documents
from iconotext.corpus.formats.mmc4 import mmc4_parts

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values
    from iconotext.corpus.row import Row

ABOUT = (
    "shards of Multimodal C4, docs_no_face_shard_0_v3.jsonl or .jsonl.zip and so on, from the data set "
    "jmhessel/mmc4-ff or jmhessel/mmc4-core-ff on the Hugging Face hub (see github.com/allenai/mmc4)"
)


class Settings(ShardSettings):
    """Make a corpus out of shards of Multimodal C4 (Zhu et al. 2023).

    Shards are docs_no_face_shard_0_v3.jsonl and so on, also as .jsonl.zip; they are read in the order of their names.
    Links are the data set's own guess, an image to a sentence. Pictures are found in --images under the names that the
    shards give them, or by SHA-256, SHA-1 or MD5 of their addresses; an image without a file is named by its address.

    **Examples**

    - `iconotext corpus build mmc4 --source shards/ --output mmc4.parquet`
    - `iconotext corpus build mmc4 -s shards/ -o mmc4.jsonl --images pictures/ --fetch --only-found`
    - `iconotext corpus build mmc4 -s shard_0.jsonl.zip -o mmc4.jsonl --min-similarity 0.25`
    """

    min_similarity: float | None = Field(None, ge=-1, le=1)
    """Leave out links of images whose matched_sim is below."""

    similarities: bool = True
    """Keep the matrix of similarities of all images and sentences in meta: it is most of a document."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of Multimodal C4."""
    folder = settings.source if settings.source.is_dir() else settings.source.parent
    data_set = ShardedSet((".jsonl", ".jsonl.zip"), ABOUT, mmc4_parts, partial(_described, settings, folder))
    return shard_documents(build, settings, data_set)


def _described(settings: Settings, folder: Path, row: Row) -> tuple[Values, list[Picture]]:
    infos, shard, links = row.meta["image_info"], row.meta["mmc4"], row.links
    if links is not None and settings.min_similarity is not None:
        links = [(s, i) for s, i in links if _similarity(infos[i]) >= settings.min_similarity]
    if not settings.similarities:
        shard = {name: value for name, value in shard.items() if name != "similarity_matrix"}
    values = {"sentences": row.sentences, "links": links, "meta": {"mmc4": shard, "image_info": infos}}
    return values, [_picture(folder, *each) for each in zip(row.images, infos, strict=True)]


def _picture(folder: Path, image: str, info: dict[str, Any]) -> Picture:
    """The name of an image; the data set's own script downloads it into ``SHARD_images`` beside a shard."""
    address, name = info.get("raw_url"), info["image_name"]
    web = address if isinstance(address, str) and address.startswith(("http://", "https://")) else ""
    inside = image != name and ".." not in PurePosixPath(image).parts
    beside = folder / image if inside and os.path.isfile(folder / image) else None
    return Picture(PurePosixPath(name).name, web, beside)


def _similarity(info: dict[str, Any]) -> float:
    """Similarity of an image with the sentence matched to it; -1 if unknown."""
    found = info.get("matched_sim")
    return float(found) if isinstance(found, int | float) else -1.0
