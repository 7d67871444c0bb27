"""A stage turns one shard into a result and a manifest; every engine runs it. ``Counts`` counts what happens.

Begin with ``Stage.run``, which links a shard, and ``Stage.documents``, which reads it. Other stages override ``make``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from socket import gethostname

from iconotext.corpus.builders.find_images import FoundImages
from iconotext.corpus.formats.mmc4 import images_folder
from iconotext.corpus.formats.webdataset import Tar, sample_records
from iconotext.corpus.row import Record, Row, document_of
from iconotext.corpus.store import FORMATS, format_of, read_records, with_repeated_ids
from iconotext.decide.settings import LinkSettings
from iconotext.errors import CorpusError, OutputError
from iconotext.linker import Linker
from iconotext.read import Failure
from iconotext.report.as_json import json_lines
from iconotext.report.as_parquet import write_parquet
from iconotext.scale.manifest import (
    EXAMPLES,
    InputFile,
    Manifest,
    forget,
    is_done,
    manifest_of,
    sees,
    sha256_of,
    write_manifest,
)
from iconotext.scale.settings import ShardSettings
from iconotext.scale.shards import Shard, ShardPictures, result_address
from iconotext.system.files import write_text
from iconotext.system.object_store import (
    absolute,
    address_of,
    at_hand,
    entry,
    is_folder,
    is_remote,
    joined,
    located,
    split_address,
    target,
)
from iconotext.system.threads import in_threads
from iconotext.types import Document, LinkedDocument, Member

FETCHING = 8
"""Documents of a shard in a store whose pictures are fetched at the same time."""

LEFT_OUT = "left out: looks like an earlier picture of another place"
"""The problem of pictures that the table ``without`` names."""

_INDEX = re.compile(r"\.\d+")
_NUMBER = re.compile(r"\d[\d,.]*")


@dataclass
class Stage:
    """Links the documents of shards.

    Attributes:
        output: Folder of the results, or its address in a store.
        setup: Digest of the setup, for the manifests.
    """

    output: str
    setup: str
    model: str = "default"
    linking: LinkSettings = field(default_factory=LinkSettings)
    settings: ShardSettings = field(default_factory=ShardSettings)

    @property
    def suffix(self) -> str:
        """Suffix of results."""
        return self.settings.to

    @cached_property
    def linker(self) -> Linker:
        """Loaded when first used, once in each process."""
        return Linker.load(self.model, self.linking)

    @cached_property
    def _found(self) -> FoundImages | None:
        return None if self.settings.images is None else FoundImages(self.settings.images)

    def prepare(self) -> None:
        """Load everything that is common to all shards.

        Raises:
            FeatureError: The model cannot be loaded.
            CorpusError: The folder of pictures does not exist.
            OutputError: This machine cannot read the folder of the results.
        """
        folder, setup = self.begun
        if not sees(folder, setup):
            raise OutputError(
                f"{folder}: is not there on {gethostname()}; on several machines, shards and results must be in a "
                "store, or in folders that all have at the same paths"
            )
        self.load()

    @property
    def begun(self) -> tuple[str, str]:
        """The folder that every machine must be able to read, and the digest of its setup."""
        return self.output, self.setup

    def load(self) -> None:
        """Load the model and the folder of pictures; called by ``prepare``."""
        _ = self.linker, self._found

    def run(self, shard: Shard) -> Manifest:
        """Link a shard, and write its result and manifest."""
        if (done := is_done(self.output, shard, self.setup)) is not None:
            return done  # made by a process that was believed dead
        counts = Counts()
        files = [shard.file, *shard.beside]
        address = result_address(self.output, shard.name, self.suffix)
        with at_hand(*(each.address for each in files)) as paths:
            if not paths[0].is_file():  # else the shard would get an empty result
                raise FileNotFoundError(f"{shard.file.address}: is not there any more, or not on {gethostname()}")
            before = manifest_of(self.output, shard)
            if before and len(before.inputs) > len(files) and entry(address) is not None:
                raise FileNotFoundError(
                    f"{before.inputs[-1].address}: is not there any more; bring it back, or take the result away"
                )
            digest = sha256_of(paths[0])
            inputs = [InputFile(address=absolute(e.address), size=e.size, modified=e.modified) for e in files]
            inputs[0].sha256 = digest
            forget(self.output, shard)
            with target(address) as path:
                self.make(shard.name, self.documents(shard, paths, counts), counts, path)
                size, made = path.stat().st_size, sha256_of(path) or ""
        manifest = Manifest(
            shard=shard.name,
            inputs=inputs,
            setup=self.setup,
            output=f"{shard.name}.{self.suffix}",
            size=size,
            sha256=made,
            **counts.said(),
        )
        write_manifest(self.output, shard, manifest)
        return manifest

    def make(self, name: str, documents: Iterable[Document], counts: Counts, path: Path) -> None:
        """Write the result for the documents of a shard."""
        self.write(self.linker.link_all(documents), counts, path)

    def write(self, results: Iterator[LinkedDocument | Failure], counts: Counts, path: Path) -> None:
        """Write linked documents."""
        with closing(results) as each:  # type: ignore[type-var]  # a generator
            linked = counts.linked(each, drop=self.settings.unlinked == "drop")
            if self.settings.to == "jsonl":
                write_text(path, json_lines(linked), force=True)
            else:
                write_parquet(linked, path, force=True)

    def documents(self, shard: Shard, paths: list[Path], counts: Counts) -> Iterator[Document]:
        """The documents of a shard, whose files are at ``paths``; if reading fails, those before the failure."""
        file, remote, folder = paths[0], is_remote(shard.file.address), split_address(shard.file.address)[0]
        try:
            tars = []
            for path, beside in zip(paths[1:], shard.beside, strict=True):
                try:
                    tars.append(Tar(path, beside.address))
                except CorpusError as error:
                    counts.broken = str(error).replace(str(path), beside.address)
                    counts.note("tar of pictures: cannot be read", counts.broken)
            if file.suffix.lower() == ".tar":
                own = Tar(file, shard.file.address)
                tars, records, files = [own], with_repeated_ids(sample_records(own)), True
            else:
                kind = format_of(file)
                if remote and kind == "mmc4" and is_folder(joined(folder, images_folder(file).name)):
                    images_folder(file).mkdir()  # each picture is fetched when needed
                records, files = read_records(file), FORMATS[kind].files
            for tar in tars:
                for reason, number in tar.refused.items():
                    counts.note(f"member of a tar: {reason}", tar.path.name, number)
            pictures = ShardPictures(
                file.parent,
                tars,
                remote=folder if remote else None,
                found=self._found,
                outside=self.settings.allow_outside,
                files=files,
            )
            good = counts.read(records, self._in_sample)
            made = _made(good, pictures, shard.file.address, threads=FETCHING if remote else None)
            if self.settings.without is not None:
                made = without(made, left_out(self.settings.without, shard.name))
            yield from made
            problems = [tar.problem for tar in tars if tar.problem is not None]
            counts.problem = problems[0] if problems else None
        except CorpusError as error:
            counts.problem = str(error).replace(str(file), shard.file.address)

    def _in_sample(self, name: str) -> bool:
        return self.settings.sample >= 1 or share_of(name) < self.settings.sample


def share_of(name: str) -> float:
    """Pseudo-random number from 0 to 1 from a document's id; a sample takes documents below its share."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _made(
    records: Iterable[tuple[Record, Row]], pictures: ShardPictures, address: str, *, threads: int | None
) -> Iterator[Document]:
    def document(known: tuple[Record, Row]) -> Document:
        record, row = known
        made = document_of(row, pictures, record.files)
        images = list(made.images)
        for n, each in enumerate(images):
            if record.files and record.files[n] is not None:
                images[n] = replace(each, member=Member(address, record.number, n))
            elif isinstance(each.file, bytes):
                images[n] = replace(each, member=pictures.member(each.source))
        return replace(made, images=tuple(images))

    if threads is None:
        yield from map(document, records)
        return
    with closing(in_threads(document, records, threads=threads, ahead=threads)) as documents:
        yield from documents


def left_out(table: Path, shard: str) -> dict[str, set[int]]:
    """The pictures of one shard that a table of duplicates names: document id to numbers of pictures.

    Raises:
        OutputError: The table cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:  # the table is sorted, so only this shard's part is read
        store, path = located(address_of(table))
        rows = pq.read_table(path, columns=["document", "image"], filters=[("shard", "==", shard)], filesystem=store)
    except (pa.ArrowException, OSError) as error:
        raise OutputError(f"{address_of(table)}: no table of duplicates: {' '.join(str(error).split())}") from error
    found: dict[str, set[int]] = {}
    for row in rows.to_pylist():
        found.setdefault(row["document"], set()).add(row["image"])
    return found


def without(documents: Iterable[Document], pictures: Mapping[str, set[int]]) -> Iterator[Document]:
    """Set a problem on the pictures to leave out; they stay in their documents, so that numbers do not change."""
    for document in documents:
        numbers = pictures.get(document.id, ())
        images = (
            replace(image, problem=image.problem or LEFT_OUT) if n in numbers else image
            for n, image in enumerate(document.images)
        )
        yield replace(document, images=tuple(images))


class Counts:
    """Counts of the rows, documents and images of a shard.

    Attributes:
        problem: Why the shard could not be read to its end.
        broken: The first broken tar or row, which was skipped.
    """

    def __init__(self) -> None:
        self.documents = Counter[str]()
        self.images = Counter[str]()
        self.reasons = Counter[str]()
        self.examples: list[str] = []
        self.links = 0
        self.problem: str | None = None
        self.broken: str | None = None

    def note(self, reason: str, example: str, number: int = 1) -> None:
        """Count a problem, and store it as an example if there are few examples."""
        self.reasons[reason] += number
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)

    def read(self, records: Iterable[Record], chosen: Callable[[str], bool]) -> Iterator[tuple[Record, Row]]:
        """Yield the rows that can be used and are in the sample; count the others."""
        for record in records:
            self.documents["read"] += 1
            if record.problems or record.row is None:
                problem = record.problems[0]
                self.documents["broken row"] += 1
                field = "" if problem.field is None else f", field {_INDEX.sub('', problem.field)}"
                self.broken = self.broken or str(problem)
                self.note(f"row{field}: {reason_of(problem.message)}", str(problem))
            elif not chosen(record.row.id):
                self.documents["not in the sample"] += 1
            else:
                yield record, record.row

    def linked(self, results: Iterable[LinkedDocument | Failure], *, drop: bool) -> Iterator[LinkedDocument]:
        """Yield the documents to write; count everything."""
        for result in results:
            if isinstance(result, Failure):
                self.documents["cannot be linked"] += 1
                self.note(f"document: {reason_of(str(result.error))}", f"{result.path}: {result.error}")
                continue
            for image in result.document.images:
                self.images["read"] += 1
                if image.problem is None:
                    self.images["usable"] += 1
                    continue
                left = "left out" if image.problem == LEFT_OUT else "unreadable"
                self.images["missing" if image.file is None else left] += 1
                self.note(
                    f"picture: {reason_of(image.problem)}", f"{result.document.id}, {image.source}: {image.problem}"
                )
            if drop and not result.links:
                self.documents["without a link"] += 1
                continue
            self.documents["written"] += 1
            self.links += len(result.links)
            yield result

    def said(self) -> dict[str, object]:
        """The counts as fields of a manifest."""
        return {
            "documents": dict(sorted(self.documents.items())),
            "images": dict(sorted(self.images.items())),
            "links": self.links,
            "reasons": dict(sorted(self.reasons.items())),
            "examples": self.examples,
            "problem": self.problem,
        }


def reason_of(problem: str) -> str:
    """A problem without names and numbers, so that similar problems are counted together."""
    return _NUMBER.sub("N", problem.partition(":")[0])[:100]
