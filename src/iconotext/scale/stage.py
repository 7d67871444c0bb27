"""A stage turns one shard into a result and a manifest; every engine runs it.

Begin with ``Stage.run``, which links a shard. Other stages override ``make``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from socket import gethostname

from iconotext.corpus.found_images import FoundImages
from iconotext.corpus.shard_results import (
    InputFile,
    Manifest,
    forget,
    is_done,
    manifest_of,
    sees,
    sha256_of,
    write_manifest,
)
from iconotext.corpus.shards import Counts, Shard, ShardSettings, reason_of, shard_documents
from iconotext.decide.settings import LinkSettings
from iconotext.errors import OutputError
from iconotext.linker import Linker
from iconotext.read import Failure
from iconotext.report.as_json import json_lines
from iconotext.report.as_parquet import write_parquet
from iconotext.system.files import write_text
from iconotext.system.object_store import absolute, entry, joined, local_files, target
from iconotext.types import Document, LinkedDocument


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
    def pictures(self) -> FoundImages | None:
        """The folder of pictures."""
        return None if self.settings.images is None else FoundImages(self.settings.images)

    def prepare(self) -> None:
        """Load everything that is common to all shards.

        Raises:
            FeatureError: The model cannot be loaded.
            CorpusError: The folder of pictures does not exist.
            OutputError: This machine cannot read the folder of the results.
        """
        if not sees(self.output, self.setup):
            raise OutputError(
                f"{self.output}: is not there on {gethostname()}; on several machines, shards and results must be in a "
                "store, or in folders that all have at the same paths"
            )
        self.load()

    def load(self) -> None:
        """Load the model and the folder of pictures; called by ``prepare``."""
        _ = self.linker, self.pictures

    def run(self, shard: Shard) -> Manifest:
        """Link a shard, and write its result and manifest."""
        if (finished := is_done(self.output, shard, self.setup)) is not None:
            return finished  # made by a process that was believed dead
        counts = Counts()
        files = [shard.file, *shard.beside]
        address = joined(self.output, f"{shard.name}.{self.suffix}")
        with local_files(*(file.address for file in files)) as paths:
            if not paths[0].is_file():  # else the shard would get an empty result
                raise FileNotFoundError(f"{shard.file.address}: is not there any more, or not on {gethostname()}")
            before = manifest_of(self.output, shard)
            # Without a tar that was there before, the new result would lack its pictures.
            if before and len(before.inputs) > len(files) and entry(address) is not None:
                raise FileNotFoundError(
                    f"{before.inputs[-1].address}: is not there any more; bring it back, or take the result away"
                )
            digest = sha256_of(paths[0])
            inputs = [InputFile(address=absolute(e.address), size=e.size, modified=e.modified) for e in files]
            inputs[0].sha256 = digest
            forget(self.output, shard)  # first, so that no manifest ever stands beside a result of another time
            with target(address) as path:
                self.make(shard_documents(shard, paths, counts, self.settings, self.pictures), counts, path)
                size, sha256 = path.stat().st_size, sha256_of(path) or ""
        manifest = Manifest(
            shard=shard.name,
            inputs=inputs,
            setup=self.setup,
            output=f"{shard.name}.{self.suffix}",
            size=size,
            sha256=sha256,
            **counts.as_dict(),
        )
        write_manifest(self.output, shard, manifest)
        return manifest

    def make(self, documents: Iterable[Document], counts: Counts, path: Path) -> None:
        """Write the result for the documents of a shard."""
        with closing(self.linker.link_all(documents)) as results:  # type: ignore[type-var]  # a generator
            linked = self._counted(results, counts)
            if self.settings.to == "jsonl":
                write_text(path, json_lines(linked), force=True)
            else:
                write_parquet(linked, path, force=True)

    def _counted(self, results: Iterable[LinkedDocument | Failure], counts: Counts) -> Iterator[LinkedDocument]:
        """Yield the documents to write; count everything."""
        for result in results:
            if isinstance(result, Failure):
                counts.documents["cannot be linked"] += 1
                counts.note(f"document: {reason_of(str(result.error))}", f"{result.path}: {result.error}")
                continue
            for image in result.document.images:
                counts.picture(result.document.id, image, image.problem)
            if self.settings.unlinked == "drop" and not result.links:
                counts.documents["without a link"] += 1
                continue
            counts.documents["written"] += 1
            counts.links += len(result.links)
            yield result
