"""Promises over shards: the share of wrong links is limited over all shards together, in three stages for each shard.

``Pool`` stores the pictures of a shard that may become decoys. ``Candidates`` links each picture to its best sentence,
with and without its decoy, and writes the scores as a table beside the links. ``Promised`` keeps the links that pass
the rule, which ``rule_of_all`` makes from the tables of all shards.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from iconotext.corpus.formats.table import write_tuples
from iconotext.corpus.shard_results import Manifest, forget, is_done, sha256_of, write_manifest
from iconotext.corpus.shards import Counts, Shard
from iconotext.decide.calibration import Calibration
from iconotext.decide.false_discovery import Candidate, Controlled, Thresholds, thresholds_of
from iconotext.decide.settings import LinkSettings
from iconotext.decide.target_decoy import POOL, DecoyPool, digest_of
from iconotext.plain_text import json_text
from iconotext.report.as_json import promise_object
from iconotext.report.as_parquet import BATCH_ROWS, COLUMNS
from iconotext.scale.stage import Stage
from iconotext.system.files import open_atomic, write_text
from iconotext.system.object_store import joined, local_files, target
from iconotext.system.spool import Spool
from iconotext.system.strict_json import parse_json
from iconotext.system.threads import in_threads
from iconotext.types import Document, Image, TextLine

INNER = "_promises"
"""Folder beside the results, for the intermediate stages."""

FETCHED = 8
"""Tables that are fetched at the same time."""


class Pool(Stage):
    """First stage: writes the pictures of a shard that may become decoys, those with the smallest digests."""

    def load(self) -> None:
        """Find the folder of pictures; no model is needed."""
        _ = self.pictures

    def make(self, name: str, documents: Iterable[Document], counts: Counts, path: Path) -> None:
        """See ``Stage``."""
        with TemporaryDirectory(prefix="iconotext-") as folder:
            pool, keep = DecoyPool(), partial(_on_disk, Path(folder), count())
            for document in documents:
                counts.documents["written"] += 1
                pool.add(document, keep)
            write_pool(path, pool)


@dataclass
class Candidates(Stage):
    """Second stage: links documents without a promise, and writes the candidates for the promise beside the links.

    Attributes:
        pool: Address of the table of decoys.
    """

    pool: str = ""

    def load(self) -> None:
        """See ``Stage``."""
        super().load()
        _ = self._pool

    @cached_property
    def _pool(self) -> DecoyPool:
        self._folder = TemporaryDirectory(prefix="iconotext-")  # deleted with this object
        with local_files(self.pool) as (path,):
            return read_pool(path, Path(self._folder.name))

    def make(self, name: str, documents: Iterable[Document], counts: Counts, path: Path) -> None:
        """See ``Stage``."""
        with Spool(documents) as spool:
            with target(_beside(self.output, name)) as beside:
                write_candidates(beside, self.linker.candidates(spool, self._pool))
            self.write(self.linker.plain.link_all(spool), counts, path)


@dataclass
class Promised(Stage):
    """Last stage: keeps the links that pass the rule.

    Attributes:
        made: The output folder of the stage ``Candidates``, and the digest of its setup.
        rule: The rule from the candidates of all shards.
    """

    made: tuple[str, str] = ("", "")
    rule: Thresholds | None = None

    @property
    def begun(self) -> tuple[str, str]:
        """See ``Stage``."""
        return self.made

    def load(self) -> None:
        """Load nothing: no document is read again."""

    def run(self, shard: Shard) -> Manifest:
        """See ``Stage``."""
        folder, setup = self.made
        linked = is_done(folder, shard, setup)
        if linked is None or self.rule is None:
            raise FileNotFoundError(f"{shard.file.address}: has changed, or its links in {folder}, since it was linked")
        promises = self.rule.promises(read_candidates(folder, linked))
        counts = Counts()
        forget(self.output, shard)
        with (
            local_files(joined(folder, linked.output)) as (source,),
            target(joined(self.output, linked.output)) as path,
        ):
            keep_links = _keep_rows if self.settings.to == "parquet" else _keep_lines
            keep_links(source, path, promises, counts, drop=self.settings.unlinked == "drop")
            size, made = path.stat().st_size, sha256_of(path) or ""
        documents = {**linked.documents, **counts.documents}
        documents["written"] = linked.documents.get("written", 0) - counts.documents["without a link"]
        manifest = linked.model_copy(
            update={
                "setup": self.setup,
                "size": size,
                "sha256": made,
                "documents": {name: number for name, number in sorted(documents.items()) if number},
                "links": counts.links,
            }
        )
        write_manifest(self.output, shard, manifest)
        return manifest


def _on_disk(folder: Path, numbers: Iterator[int], image: Image) -> Image:
    """Write the bytes of an image to a file: hundreds of photographs do not fit into memory."""
    if not isinstance(image.file, bytes):
        return image
    file = folder / str(next(numbers))
    file.write_bytes(image.file)
    return replace(image, file=file)


def write_pool(path: Path, pool: Iterable[tuple[str, str, int, Image]]) -> str:
    """Write the pool of decoys: each image with its texts and picture. Returns a digest of the contents."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"digest": pa.uint64(), "document": pa.string(), "collection": pa.string(), "number": pa.int32()}
    schema, digest = pa.schema({**types, "image": pa.string(), "picture": pa.binary()}), hashlib.sha256()
    with open_atomic(path, force=True) as file, pq.ParquetWriter(file, schema) as writer:
        for document, collection, number, image in pool:  # one row group each: only one is in memory
            lines = None if image.lines is None else [asdict(line) for line in image.lines]
            text = json.dumps({"source": image.source, "alt": image.alt, "caption": image.caption, "lines": lines})
            picture = image.file.read_bytes() if isinstance(image.file, Path) else image.file
            row = (digest_of(document, number), document, collection, number, text, picture)
            digest.update(repr((*row[:5], hashlib.sha256(picture or b"").digest())).encode())
            writer.write_table(pa.table([[value] for value in row], schema=schema))
    return digest.hexdigest()


def read_pool(path: Path, folder: Path, rows: Iterable[int] | None = None) -> DecoyPool:
    """Read a pool of decoys, or some of its rows; the pictures are written as files into ``folder``."""
    pool = DecoyPool()
    for document, collection, number, image in _images(path, folder, rows):
        pool.add_image(document, collection, number, image)
    return pool


def _images(path: Path, folder: Path, rows: Iterable[int] | None = None) -> Iterator[tuple[str, str, int, Image]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as table:
        for n in range(table.num_row_groups) if rows is None else rows:
            (row,) = table.read_row_group(n).to_pylist()
            image = parse_json(row["image"])
            if image["lines"] is not None:
                image["lines"] = tuple(TextLine(**{**line, "box": tuple(line["box"])}) for line in image["lines"])
            file = None
            if row["picture"] is not None:
                file = folder / f"{path.stem}-{n}"
                file.write_bytes(row["picture"])
            yield row["document"], row["collection"], row["number"], Image(file=file, **image)


def merge_pools(output: str, manifests: Sequence[Manifest], address: str) -> str:
    """Merge the pools of all shards into one: the ``POOL`` images with the smallest digests. Returns its digest."""
    import pyarrow.parquet as pq

    def digests() -> Iterator[tuple[int, int, int]]:
        for n, each in enumerate(manifests):
            with local_files(joined(output, each.output)) as (path,):
                found = pq.read_table(path, columns=["digest"])["digest"].to_pylist()
            yield from ((digest, n, row) for row, digest in enumerate(found))

    chosen: dict[int, list[int]] = {}
    for _, n, row in heapq.nsmallest(POOL, digests()):
        chosen.setdefault(n, []).append(row)

    def images(scratch: Path) -> Iterator[tuple[str, str, int, Image]]:
        for n in sorted(chosen):
            with (
                local_files(joined(output, manifests[n].output)) as (path,),
                TemporaryDirectory(dir=scratch) as folder,
            ):
                yield from _images(path, Path(folder), sorted(chosen[n]))

    with TemporaryDirectory(prefix="iconotext-") as scratch, target(address) as path:
        return write_pool(path, images(Path(scratch)))


def _beside(output: str, name: str) -> str:
    return joined(joined(output, "_candidates"), f"{name}.parquet")


def write_candidates(path: Path, candidates: Iterable[Candidate]) -> None:
    """Write the candidates of a shard as a Parquet table."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int32(), float: pa.float64()}
    kinds = [str, int, str, float, float, float, float, str]
    schema = pa.schema([(name, types[kind]) for name, kind in zip(Candidate._fields, kinds, strict=True)])
    write_tuples(candidates, schema, path, at_once=BATCH_ROWS)


def read_candidates(output: str, manifest: Manifest) -> list[Candidate]:
    """Read the candidates that ``write_candidates`` wrote for a shard."""
    import pyarrow.parquet as pq

    with local_files(_beside(output, manifest.shard)) as (path,):
        columns = pq.read_table(path).to_pydict()
    return [Candidate(*row) for row in zip(*columns.values(), strict=True)]


def rule_of_all(
    output: str, manifests: Sequence[Manifest], calibration: Calibration, settings: LinkSettings
) -> Thresholds:
    """Make one rule from the candidates of all linked shards."""
    if settings.max_false is None:
        raise ValueError("max_false is not set")
    read = partial(read_candidates, output)
    with closing(in_threads(read, manifests, threads=FETCHED, ahead=FETCHED)) as batches:
        return thresholds_of(batches, calibration, settings.max_false, settings.promise)


def _keep_lines(source: Path, path: Path, promises: Controlled, counts: Counts, *, drop: bool) -> None:
    def lines() -> Iterator[str]:
        with source.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                linked = parse_json(line)
                passed = {claim: of.get(linked["id"], frozenset()) for claim, of in promises.passed.items()}
                if promises.required != "none":
                    required = passed[promises.required]
                    linked["links"] = [each for each in linked["links"] if each["image"] in required]
                if drop and not linked["links"]:
                    counts.documents["without a link"] += 1
                    continue
                counts.links += len(linked["links"])
                linked["promises"] = [
                    promise_object(replace(each, images=passed[each.claim])) for each in promises.made
                ]
                yield json_text(linked) + "\n"

    write_text(path, lines(), force=True)


def _keep_rows(source: Path, path: Path, promises: Controlled, counts: Counts, *, drop: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [column.name for column in COLUMNS]
    of_links = names[names.index("sentence") :]
    linked: set[str] = set()
    with pq.ParquetFile(source) as table:
        kept = None if promises.required == "none" else promises.passed[promises.required]
        for batch in table.iter_batches(BATCH_ROWS, columns=["document", "image", "sentence"]):
            for document, image, sentence in zip(*batch.to_pydict().values(), strict=True):
                if sentence is not None and (kept is None or image in kept.get(document, ())):
                    linked.add(document)
                    counts.links += 1
        everybody: set[str] = set()
        with (
            open_atomic(path, force=True) as file,
            pq.ParquetWriter(file, table.schema_arrow, compression="zstd") as writer,
        ):
            for batch in table.iter_batches(BATCH_ROWS):
                documents, images = batch["document"].to_pylist(), batch["image"].to_pylist()
                everybody.update(documents)
                if kept is not None:
                    passed = [i in kept.get(d, ()) for d, i in zip(documents, images, strict=True)]
                    rows = pa.array([n if good else None for n, good in enumerate(passed)], pa.int64())
                    for name in of_links:
                        batch = batch.set_column(names.index(name), name, batch[name].take(rows))
                if drop:
                    batch = batch.filter(pa.array([each in linked for each in documents], pa.bool_()))
                writer.write_batch(batch)
    if drop:
        counts.documents["without a link"] = len(everybody - linked)
