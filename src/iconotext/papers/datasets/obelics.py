"""OBELICS (Laurençon et al. 2023): web pages with their pictures in reading order, and without links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.obelics import obelics_parts
from iconotext.corpus.row import Row
from iconotext.papers.datasets.shards import Picture, ShardedSet, ShardSettings, shard_rows
from iconotext.read.web.polite import Politeness

ABOUT = (
    "shards of OBELICS, train-00000-of-01335.parquet and so on, from the folder data of the data set "
    "HuggingFaceM4/OBELICS on the Hugging Face hub"
)


def obelics_rows(
    build: Build,
    source: Path,
    settings: ShardSettings,
    *,
    images: Path | None = None,
    fetch: Politeness | None = None,
    only_found: bool = False,
) -> Iterator[Values]:
    """Documents of OBELICS; the other arguments are those of ``shard_rows``.

    Raises:
        CorpusError: There are no shards, or no such folder of pictures.
        SettingError: Pictures are to be fetched and no folder is named.
    """
    data_set = ShardedSet((".parquet",), ABOUT, obelics_parts, _named, _images, _made)
    return shard_rows(build, source, data_set, settings, images=images, fetch=fetch, only_found=only_found)


def _named(row: Row) -> bool:
    return bool(row.meta["obelics"].get("general", {}).get("url"))


def _images(row: Row) -> list[Picture]:
    return [Picture(None, address) for address in row.images]


def _made(row: Row) -> Values:
    return row.model_dump(exclude={"id", "images"}, exclude_none=True)
