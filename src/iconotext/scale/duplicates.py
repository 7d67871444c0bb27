"""Near-duplicate pictures across shards: a table of hashes for each shard, then one table of duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Resampling

from iconotext import __version__
from iconotext.corpus.shard_results import Manifest, digest_of_setup
from iconotext.corpus.shards import Counts, ShardSettings
from iconotext.errors import ImageError, StoreError
from iconotext.extras import require
from iconotext.images import decode
from iconotext.images.near_duplicates import BLOCK_SIZE, near_duplicates, perceptual_hash
from iconotext.scale.engine import EngineSettings
from iconotext.scale.run import run_shards
from iconotext.scale.stage import Stage
from iconotext.system.files import open_atomic
from iconotext.system.object_store import joined, read_bytes, target
from iconotext.system.processes import Watch, unwatched
from iconotext.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray

DUPLICATES = "_duplicates.parquet"
"""Table in the folder of hashes: pictures that look like an earlier one."""

SIDE = 224
"""Side in pixels to which a picture is scaled before hashing: 32 x 32 points, each the mean of 7 x 7 pixels."""

ROWS = 50_000
"""Table rows that are read or written at a time."""


@dataclass
class Hashes(Stage):
    """Writes a table with a hash for each picture of a shard that can be decoded."""

    def load(self) -> None:
        """Load nothing: no model is needed."""
        _ = self.pictures

    def make(self, documents: Iterable[Document], counts: Counts, path: Path) -> None:
        """See ``Stage``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([("document", pa.string()), ("image", pa.int32()), ("hash", pa.uint64())])
        rows = _hashed(documents, counts)
        with open_atomic(path, force=True) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            while batch := list(islice(rows, ROWS)):
                writer.write_table(pa.table(list(zip(*batch, strict=True)), schema=schema))


def find_duplicates(
    addresses: Sequence[str],
    output: str,
    *,
    distance: int = 3,
    settings: ShardSettings | None = None,
    engine: EngineSettings | None = None,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Find pictures that look like an earlier one, in order of shard name, document and image.

    A later call reads only shards that are new or have changed.

    Args:
        output: Folder for a table of hashes for each shard, and for ``_duplicates.parquet`` with the columns ``shard``,
            ``document``, ``image``, and the earlier picture: ``of_shard``, and ``of_row`` in its table.
        distance: Two hashes of 64 bits match if at most this many bits differ, 0 to 15. Matching is not transitive.
        settings: Only the folder of pictures, the share of documents and ``allow_outside`` are used.

    Returns:
        As ``link_shards``, and ``duplicates``, the number of pictures that look like an earlier one.
    """
    require("parquet", purpose="a table of Parquet")
    settings = settings or ShardSettings()
    settings = ShardSettings(**settings.model_dump(include={"images", "sample", "allow_outside"}))
    setup = {"iconotext": __version__, "hash": "DCT, 64 bits", "shards": settings.model_dump(mode="json")}
    stage = Hashes(output, digest_of_setup(setup), settings=settings)
    engine = engine or EngineSettings()
    manifests, summary = run_shards(addresses, stage, setup, engine=engine, watch=watch, label="Looking at pictures")
    return summary | {"duplicates": write_duplicates(output, manifests, distance)}


def write_duplicates(output: str, manifests: Sequence[Manifest], distance: int) -> int:
    """Compare the hashes of all tables in a folder, write ``DUPLICATES``, and return the number of duplicates.

    Memory is bounded (see ``near_duplicates``): a temporary file has 16 bytes for each picture.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"shard": pa.string(), "document": pa.string(), "image": pa.int32()}
    schema = pa.schema({**types, "of_shard": pa.string(), "of_row": pa.int64()})
    names = [manifest.shard for manifest in manifests]
    count = 0
    with TemporaryDirectory(prefix="iconotext-") as folder, target(joined(output, DUPLICATES)) as path:
        counts = []
        with (Path(folder) / "hashes").open("wb") as raw:
            for manifest in manifests:
                hashes = _table(output, manifest, ["hash"])["hash"].to_numpy()
                counts.append(len(hashes))
                hashes.astype(np.uint64).tofile(raw)
        begins = np.cumsum([0, *counts])
        partner = _partners(Path(folder), int(begins[-1]), distance)
        with open_atomic(path, force=True) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for manifest, begin, end in zip(manifests, begins, begins[1:], strict=False):
                # The first picture of a group has a later one as its partner, and is no duplicate.
                partners = np.asarray(partner[begin:end])
                rows = np.flatnonzero((partners >= 0) & (partners < np.arange(begin, end)))
                if not len(rows):
                    continue
                count += len(rows)
                chosen = _table(output, manifest, ["document", "image"]).take(pa.array(rows))
                earlier = partners[rows]
                shards = np.searchsorted(begins, earlier, side="right") - 1
                columns = [pa.array([manifest.shard] * len(rows)), chosen["document"], chosen["image"]]
                columns += [pa.array([names[n] for n in shards]), pa.array(earlier - begins[shards])]
                writer.write_table(pa.table(columns, schema=schema), row_group_size=ROWS)
    return count


def _partners(folder: Path, total: int, distance: int) -> NDArray[np.int64]:
    if total == 0:
        return np.empty(0, np.int64)
    hashes = np.memmap(folder / "hashes", np.uint64, "r", shape=(total,))
    partner = np.memmap(folder / "partner", np.int64, "w+", shape=(total,))
    return near_duplicates(hashes, distance, partner=partner, block_size=BLOCK_SIZE)


def _table(output: str, manifest: Manifest, columns: list[str]) -> Any:
    import pyarrow.parquet as pq

    address = joined(output, manifest.output)
    data = read_bytes(address)
    if data is None:
        raise StoreError(f"{address}: is not there any more")
    return pq.read_table(BytesIO(data), columns=columns)


def hash_of(file: Path | bytes) -> int:
    """The hash of a picture, nearly independent of its size; ``ImageError`` if it cannot be decoded."""
    picture = decode(file, at_least=SIDE)
    return perceptual_hash(picture.resize((SIDE, SIDE), Resampling.BILINEAR))


def _hashed(documents: Iterable[Document], counts: Counts) -> Iterator[tuple[str, int, int]]:
    for document in documents:
        counts.documents["written"] += 1
        for number, image in enumerate(document.images):
            if image.file is None:
                counts.picture(document.id, image, image.problem or "not found")
                continue
            try:
                digest = hash_of(image.file)
            except ImageError as error:
                counts.picture(document.id, image, str(error))
            else:
                counts.picture(document.id, image, None)
                yield document.id, number, digest
