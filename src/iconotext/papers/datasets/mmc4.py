"""Multimodal C4 (Zhu et al. 2023): web pages of C4 with their pictures, as its shards have them.

The links are the data set's own guess, an assignment of images to sentences over CLIP similarities: no gold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from pydantic import Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.mmc4 import mmc4_parts
from iconotext.corpus.row import Row
from iconotext.papers.datasets.shards import Picture, ShardedSet, ShardSettings, shard_rows
from iconotext.read.web.polite import Politeness

ABOUT = (
    "shards of Multimodal C4, docs_no_face_shard_0_v3.jsonl or .jsonl.zip and so on, from the data set "
    "jmhessel/mmc4-ff or jmhessel/mmc4-core-ff on the Hugging Face hub (see github.com/allenai/mmc4)"
)


class Mmc4Settings(ShardSettings):
    """Which documents and links are used."""

    min_similarity: float | None = Field(None, ge=-1, le=1)
    """Links of images whose ``matched_sim`` is below are left out; None: none is."""
    similarities: bool = True
    """Keep the matrix of similarities of all images and sentences in ``meta``: it is most of a document."""


def mmc4_rows(
    build: Build,
    source: Path,
    settings: Mmc4Settings,
    *,
    images: Path | None = None,
    fetch: Politeness | None = None,
    only_found: bool = False,
) -> Iterator[Values]:
    """Documents of Multimodal C4; the other arguments are those of ``shard_rows``.

    Raises:
        CorpusError: There are no shards, or no such folder of pictures.
        SettingError: Pictures are to be fetched and no folder is named.
    """
    folder = source if source.is_dir() else source.parent
    data_set = ShardedSet(
        (".jsonl", ".jsonl.zip"), ABOUT, mmc4_parts, _named, partial(_images, folder), partial(_made, settings)
    )
    return shard_rows(build, source, data_set, settings, images=images, fetch=fetch, only_found=only_found)


def _named(row: Row) -> bool:
    return bool(row.meta["mmc4"].get("url"))


def _images(folder: Path, row: Row) -> list[Picture]:
    """How images are named; their own download script puts them into the folder ``SHARD_images`` beside a shard."""
    pictures = []
    for image, info in zip(row.images, row.meta["image_info"], strict=True):
        address = info.get("raw_url")
        web = isinstance(address, str) and address.startswith(("http://", "https://"))
        name = info["image_name"]
        inside = image != name and ".." not in PurePosixPath(image).parts
        beside = str(folder / image) if inside and os.path.isfile(folder / image) else None
        pictures.append(Picture(PurePosixPath(name).name, address if web else None, beside))
    return pictures


def _made(settings: Mmc4Settings, row: Row) -> Values:
    infos, shard = row.meta["image_info"], row.meta["mmc4"]
    links = row.links
    if links is not None and settings.min_similarity is not None:
        links = [(s, i) for s, i in links if _similarity(infos[i]) >= settings.min_similarity]
    if not settings.similarities:
        shard = {name: value for name, value in shard.items() if name != "similarity_matrix"}
    return {"sentences": row.sentences, "links": links, "meta": {"mmc4": shard, "image_info": infos}}


def _similarity(info: dict[str, object]) -> float:
    """Of an image with the sentence it was matched to; -1 where nobody says."""
    found = info.get("matched_sim")
    return float(found) if isinstance(found, int | float) else -1.0
