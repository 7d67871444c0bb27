"""Reads shards, in a folder or in a store, as one corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from iconotext.corpus.formats.released import DOCUMENTS_FILE
from iconotext.corpus.row import Row
from iconotext.corpus.store import read_corpus, read_rows
from iconotext.errors import CorpusError
from iconotext.scale.manifest import MANIFESTS
from iconotext.scale.shards import find_shards
from iconotext.scale.stage import Counts, Stage
from iconotext.scale.store import address_of, at_hand, is_remote
from iconotext.types import Document


def corpus_files(path: Path) -> tuple[Path, ...]:
    """The shards in a folder, here or in a store; ``(path,)`` for anything else.

    Raises:
        CorpusError: The folder has no shards.
        OutputError: Two shards have the same name.
        StoreError: The store does not answer.
    """
    folder = path.is_dir() and not (path / DOCUMENTS_FILE).is_file() and not (path / MANIFESTS).is_dir()
    if not folder and not is_remote(address_of(path)):
        return (path,)
    return tuple(Path(shard.file.address) for shard in find_shards([address_of(path)]))


def rows_of(file: Path) -> Iterator[Row]:
    """Rows of a corpus, or of a shard of a store, as ``read_rows`` reads them."""
    address = address_of(file)
    with at_hand(address) as (path,):
        try:
            yield from read_rows(path)
        except CorpusError as error:
            raise CorpusError(str(error).replace(str(path), address)) from error


def documents_of(file: Path, *, split: str | None = None, inside: bool = False) -> Iterator[Document]:
    """Documents of a corpus, or of a shard of a store, as ``read_corpus`` reads them.

    Args:
        split: Only the documents of this split.
        inside: Whether pictures outside its folder count as not found; always so for a store.

    Raises:
        CorpusError: The corpus breaks the format, or cannot be read.
        StoreError: The store does not answer.
    """
    address = address_of(file)
    if not is_remote(address):
        yield from read_corpus(file, split=split, inside=inside)
        return
    ((shard,), counts) = find_shards([address]), Counts()
    with at_hand(*(each.address for each in (shard.file, *shard.beside))) as paths:
        for document in Stage("", "").documents(shard, paths, counts):
            _refuse(address, counts)
            if split is None or document.split == split:
                yield document
    _refuse(address, counts)


def _refuse(address: str, counts: Counts) -> None:
    """Raise errors that a run over shards would only record: broken rows, or a shard that ends too early."""
    if counts.problem is not None or counts.broken is not None:
        raise CorpusError(f"{address}: {counts.problem or counts.broken}")
