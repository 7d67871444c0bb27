"""OBELICS (Laurençon et al. 2023): web pages with their images in reading order, without links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from iconotext.corpus.builders.shards import Picture, ShardedSet, ShardSettings, shard_documents
from iconotext.corpus.formats.obelics import obelics_parts

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values
    from iconotext.corpus.row import Row

ABOUT = (
    "shards of OBELICS, train-00000-of-01335.parquet and so on, from the folder data of the data set "
    "HuggingFaceM4/OBELICS on the Hugging Face hub"
)


class Settings(ShardSettings):
    """Make a corpus out of shards of OBELICS (Laurençon et al. 2023).

    Shards are train-00000-of-01335.parquet and so on; they are read in the order of their names. Paragraphs are split
    into sentences and images keep their places among them; nobody says which belong together. Pictures are found in
    --images by SHA-256, SHA-1 or MD5 of their addresses; an image without a file is named by its address.

    **Examples**

    - `iconotext corpus build obelics --source data/ --output obelics.parquet`
    - `iconotext corpus build obelics -s data/ -o obelics.jsonl --images pictures/ --fetch --only-found`
    - `iconotext corpus build obelics -s data/ -o obelics.jsonl --min-images 2 --min-sentences 10`
    """


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of OBELICS."""
    return shard_documents(build, settings, ShardedSet((".parquet",), ABOUT, obelics_parts, _described))


def _described(row: Row) -> tuple[Values, list[Picture]]:
    return row.model_dump(exclude={"id", "images"}, exclude_none=True), [Picture("", each) for each in row.images]
