"""datatrove: steps that read the documents of shards, link the pictures of documents, and write the links.

``LinkPictures`` stands in any pipeline whose documents have pictures as media. ``iconotext.scale`` puts the three steps
together: ``[ReadShards(...), LinkPictures(...), ParquetLinks(...)]``.
"""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from datatrove.data import Document as Passed
from datatrove.data import Media, MediaType
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.writers import JsonlWriter, ParquetWriter
from datatrove.utils.logging import logger

from iconotext.corpus.found_images import FoundImages
from iconotext.corpus.link_rows import LINKS, PROBLEMS, PicturesOfRows, links_of
from iconotext.corpus.row import document_of
from iconotext.corpus.row_schemas import Sample, samples_of, schema_of
from iconotext.corpus.shards import Counts, Shard, ShardSettings, find_shards, reason_of, shard_documents
from iconotext.decide.settings import LinkSettings
from iconotext.errors import CorpusError
from iconotext.linker import Linker
from iconotext.read import Failure
from iconotext.report.as_json import json_object
from iconotext.report.as_parquet import rows, table_of, table_schema
from iconotext.system.object_store import local_files
from iconotext.types import Document, LinkedDocument

SHARD = "file_path"
"""Field of a document's metadata with the address of its shard, as datatrove's own readers set it."""

SCHEMA = schema_of(["text", "images"])
"""The schema of documents that another step has read: a text, in which marks may stand for pictures, and pictures."""


class CorpusDocument(Passed):  # type: ignore[misc]  # datatrove has no types
    """A document of a shard; ``document`` has everything that datatrove's own fields have no place for."""

    __slots__ = ("document", "linked")  # no fields, so that datatrove's writers leave them out

    document: Document
    linked: LinkedDocument | None


class ReadShards(PipelineStep):  # type: ignore[misc]  # datatrove has no types
    """Reads the documents of shards; task number ``rank`` reads every ``world_size``-th shard.

    The text of a document is its sentences, each in a line. Steps between this one and ``LinkPictures`` may leave
    documents out, and must not change their texts.

    Args:
        addresses: Shards or folders of shards, as for ``find_shards``.
        settings: Which documents are read, and where their pictures are looked for.
    """

    name, type = "shards", "📖 - READER"

    def __init__(self, addresses: Sequence[str], settings: ShardSettings | None = None) -> None:
        super().__init__()
        self.shards = find_shards(addresses)
        self.settings = settings or ShardSettings()

    def run(self, data: Iterable[Passed] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Passed]:
        """Yield the documents of this task's shards."""
        yield from data or ()
        pictures = None if self.settings.images is None else FoundImages(self.settings.images)
        for shard in self.shards[rank::world_size]:
            yield from self._documents(shard, pictures)

    def _documents(self, shard: Shard, pictures: FoundImages | None) -> Iterator[CorpusDocument]:
        counts, address = Counts(), shard.file.address
        with local_files(*(file.address for file in (shard.file, *shard.beside))) as paths:
            for document in shard_documents(shard, paths, counts, self.settings, pictures):
                yield _passed(document, address)
        read, broken = counts.documents["read"], counts.documents["broken row"]
        if read == broken and (read or counts.problem):
            _count(self, "unread", {f"{address}: {counts.problem or 'every row is broken'}": 1})
        elif counts.problem is not None:
            _count(self, "damaged", {f"{address}: {counts.problem}": 1})
        _count(self, "documents", counts.documents)
        _count(self, "reasons", counts.reasons)
        for example in counts.examples:
            logger.warning(f"{address}: {example}")


class LinkPictures(PipelineStep):  # type: ignore[misc]  # datatrove has no types
    """Links the pictures of documents to their sentences, and writes the links into the metadata.

    ``iconotext_links`` and ``iconotext_problems`` are as ``link_rows`` returns them. Habits of layout are learned from
    the first documents of a shard, or of a file of datatrove's readers (``file_path``).

    Args:
        model: As for ``Linker.load``; it is loaded once in each process.
        settings: How documents are linked.
        pictures: Folder of the pictures of documents that another step has read, as for ``link_rows``.
    """

    name, type = "links", "🔗 - ICONOTEXT"

    def __init__(
        self,
        model: str = "default",
        settings: LinkSettings | None = None,
        *,
        pictures: str | None = None,
    ) -> None:
        super().__init__()
        self.model, self.settings = model, settings or LinkSettings(relations="none")
        self.pictures = pictures

    def run(self, data: Iterable[Passed] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Passed]:
        """Yield the documents with their links."""
        linker = _loaded(self.model, self.settings)
        finder = PicturesOfRows(self.pictures)
        for shard, group in groupby(data or (), key=lambda each: each.metadata.get(SHARD)):
            counts = Counts()
            yield from self._linked(group, linker, finder, counts)
            if 0 < counts.images["read"] == counts.images["missing"]:
                _count(self, "pictureless", {str(shard): counts.images["read"]})
            for name in ("documents", "images", "reasons"):
                _count(self, name, getattr(counts, name))
            for example in counts.examples:
                logger.warning(f"{shard}: {example}")

    def _linked(
        self, group: Iterable[Passed], linker: Linker, finder: PicturesOfRows, counts: Counts
    ) -> Iterator[Passed]:
        waiting: deque[tuple[Passed, Sample | None]] = deque()

        def documents() -> Iterator[Document | Failure]:
            for passed in group:
                sample = None if isinstance(passed, CorpusDocument) else _sample(passed)
                waiting.append((passed, sample))
                yield _document(passed, sample, finder)

        for linked in linker.link_all(documents()):
            passed, sample = waiting.popleft()
            if isinstance(linked, Failure):
                counts.documents["cannot be linked"] += 1
                counts.note(f"document: {reason_of(str(linked.error))}", f"{passed.id}: {linked.error}")
                if not isinstance(passed, CorpusDocument):
                    passed.metadata |= {LINKS: [], PROBLEMS: [str(linked.error)]}
                    yield passed
                continue
            for image in linked.document.images:
                counts.picture(passed.id, image, image.problem)
            counts.documents["written"] += 1
            self.stat_update("links: ", value=len(linked.links), unit="document")
            if isinstance(passed, CorpusDocument):
                passed.linked = linked
            problems = [f"{e.source}: {e.problem}" for e in linked.document.images if e.problem is not None]
            passed.metadata |= {LINKS: links_of(linked, sample), PROBLEMS: problems}
            yield passed


class ParquetLinks(ParquetWriter):  # type: ignore[misc]  # datatrove has no types
    """Writes the table of ``iconotext link --to parquet``, a row for each link, of documents of ``ReadShards``."""

    def __init__(self, output_folder: Any, output_filename: str | None = None) -> None:
        super().__init__(
            output_folder,
            output_filename,
            compression="zstd",
            adapter=_table_rows,
            batch_size=50_000,
            max_file_size=-1,
            schema=table_schema(),
        )

    def _write(self, document: dict[str, Any], file_handler: IO[bytes], filename: str) -> None:
        for row in document["rows"]:
            super()._write(row, file_handler, filename)

    def _write_batch(self, filename: str) -> None:
        if batch := self._batches.pop(filename, []):
            self._writers[filename].write_table(table_of(batch, self.schema))


class JsonlLinks(JsonlWriter):  # type: ignore[misc]  # datatrove has no types
    """Writes the lines of ``iconotext link --to jsonl``, one for each document of ``ReadShards``."""

    def __init__(self, output_folder: Any, output_filename: str | None = None) -> None:
        super().__init__(output_folder, output_filename, compression=None, adapter=_json_line)


def _table_rows(_: PipelineStep, document: CorpusDocument) -> dict[str, Any]:
    return {"rows": rows(_links_of(document))}


def _json_line(_: PipelineStep, document: CorpusDocument) -> dict[str, Any]:
    return json_object(_links_of(document))


def _links_of(document: CorpusDocument) -> LinkedDocument:
    if document.linked is None:
        raise TypeError(f"{document.id}: no links to write; LinkPictures comes before the step that writes them")
    return document.linked


def _passed(document: Document, shard: str) -> CorpusDocument:
    media = [Media(str(n), MediaType.IMAGE, e.source, e.alt or e.caption) for n, e in enumerate(document.images)]
    passed = CorpusDocument(_text(document), document.id, media, {SHARD: shard})
    passed.document, passed.linked = document, None
    return passed


def _text(document: Document) -> str:
    return "\n".join(sentence.text for sentence in document.sentences)


def _sample(passed: Passed) -> Sample:
    """Return a document that another step has read as a row of a corpus."""
    images = [each.media_bytes or each.path or each.url for each in passed.media if each.type == MediaType.IMAGE]
    (sample,) = samples_of([{"id": passed.id, "text": passed.text, "images": images}], SCHEMA)
    return sample


def _document(passed: Passed, sample: Sample | None, finder: PicturesOfRows) -> Document | Failure:
    if sample is None:
        document: Document = passed.document
        if passed.text != _text(document):
            raise ValueError(f"{passed.id}: a step between ReadShards and LinkPictures changed its text: leave it")
        return document
    record = sample.record
    if record.problems or record.row is None:
        return Failure(Path(passed.id), CorpusError(record.problems[0].message))
    return document_of(record.row, finder, record.files)


def _count(step: PipelineStep, kind: str, numbers: Mapping[str, int] | Counter[str]) -> None:
    """Add to the statistics of a task, which datatrove writes for each and sums up."""
    for name, number in numbers.items():
        step.stat_update(f"{kind}: {name}", value=number, unit="shard")


@cache
def _loaded(model: str, settings: LinkSettings) -> Linker:
    """Load a model, and let the process collect garbage less often.

    The loaded objects stay. With Python's defaults, collection took a sixteenth of the time of linking from the cache.
    """
    linker = Linker.load(model, settings)
    gc.freeze()
    gc.set_threshold(50_000)
    return linker
