"""Shards: find them with the tars beside them, name their results, and find the pictures of a shard.

``find_shards`` lists shards; ``ShardPictures`` finds the pictures that a shard's documents name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from iconotext.corpus.builders.find_images import FoundImages
from iconotext.corpus.formats.webdataset import LARGEST, Tar
from iconotext.corpus.image_files import REFUSED, ImageFiles, leads_out, named_by_address
from iconotext.errors import CorpusError, OutputError
from iconotext.system.object_store import Entry, entries, entry, joined, read_bytes, split_address
from iconotext.types import Member

SUFFIXES = (".parquet", ".pq", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.zip", ".tar")
"""File name suffixes of shards."""


@dataclass(frozen=True, slots=True)
class Shard:
    """An input shard.

    Attributes:
        name: Name of its result, without suffix; relative to the folder that the user named.
        beside: Tars of the same name, with its pictures.
    """

    file: Entry
    name: str
    beside: tuple[Entry, ...] = ()


def find_shards(addresses: Iterable[str]) -> list[Shard]:
    """The named shards and those in named folders, sorted by name.

    A tar with the same name as another shard holds the pictures of that shard: ``00000.tar`` beside ``00000.parquet``.

    Raises:
        CorpusError: There is no shard at an address.
        OutputError: Two shards would have the same result.
        StoreError: A store does not answer.
    """
    found: list[tuple[Entry, str]] = []
    for address in addresses:
        known = entry(address)
        if known is not None:
            found.append((known, _stem(split_address(address)[1])))
            continue
        start = len(joined(address, ""))
        inside = [
            each
            for each in entries(address)
            if each.address.endswith(SUFFIXES) and not _is_ours(each.address[start:].replace("\\", "/"))
        ]
        if not inside:
            raise CorpusError(
                f"{address}: no shard is there; their names end in {', '.join(SUFFIXES)}. `iconotext "
                "corpus build` makes a corpus of documents, and `iconotext corpus convert` shards of that"
            )
        found += [(each, _stem(each.address[start:].replace("\\", "/"))) for each in inside]
    texts = {_key(file) for file, _ in found if not file.address.endswith(".tar")}
    shards: dict[str, Shard] = {}
    for file, name in found:
        if file.address.endswith(".tar") and _key(file) in texts:
            continue
        beside = () if file.address.endswith(".tar") else tuple(filter(None, [entry(_key(file) + ".tar")]))
        other = shards.setdefault(name, Shard(file, name, beside))
        if other.file.address != file.address:
            raise OutputError(
                f"{other.file.address} and {file.address}: both results would be called {name}; link them into "
                "folders of their own"
            )
    return [shards[name] for name in sorted(shards)]


def result_address(output: str, name: str, to: str) -> str:
    """Address of the result of a shard."""
    return joined(output, f"{name}.{to}")


def _is_ours(name: str) -> bool:
    """Whether a file was written by a program beside its tables, and is not a shard."""
    return any(part.startswith("_") for part in name.split("/"))


def _key(file: Entry) -> str:
    return _stem(file.address)


def _stem(name: str) -> str:
    suffix = next((each for each in sorted(SUFFIXES, key=len, reverse=True) if name.endswith(each)), None)
    return name.removesuffix(suffix if suffix is not None else PurePosixPath(name).suffix)


NOT_FOUND = "not found: {}"


class ShardPictures:
    """Finds the pictures of a shard.

    Args:
        tars: The tars beside the shard.
        remote: Address of the shard's folder, if it is in a store.
        found: A folder of pictures, searched last.
        outside: Whether names may lead out of the folder.
        files: Whether documents of this format refer to pictures as files.
    """

    def __init__(
        self,
        folder: Path,
        tars: Sequence[Tar],
        *,
        remote: str | None = None,
        found: FoundImages | None = None,
        outside: bool = False,
        files: bool = True,
    ) -> None:
        self._tars, self._remote, self._found, self._outside = tars, remote, found, outside
        self._beside = ImageFiles(folder, files=files, reach="anywhere" if outside else "folder")

    def find(self, source: str) -> tuple[Path | bytes | None, str | None]:
        """(picture, None), or (None, reason); ``StoreError`` if the store does not answer."""
        for tar in self._tars:
            if name := tar.find(source):
                try:
                    return tar.read(name), None
                except CorpusError:  # changed since it was opened
                    return None, NOT_FOUND.format(source)
        if not self._outside and not named_by_address(source) and leads_out(source):
            return None, REFUSED
        file: Path | bytes | None
        if self._remote is None:
            file, problem = self._beside.find(source)
            if problem is not None and not named_by_address(source):
                # Without the folder's name, since results must not depend on the place of the shard.
                problem = NOT_FOUND.format(source)
        else:
            file, problem = self._fetched(source, self._remote)
        if file is None and problem and self._found is not None:
            kept = self._found.find(source)
            return (kept, None) if kept is not None else (None, problem)
        return file, problem

    def member(self, source: str) -> Member | None:
        """The place of a picture in a tar; None if it is not in a tar."""
        return next((tar.member(name) for tar in self._tars if (name := tar.find(source))), None)

    def _fetched(self, source: str, folder: str) -> tuple[bytes | None, str | None]:
        if named_by_address(source):
            return None, f"not at hand: {source} is an address"
        if leads_out(source):  # a store has no parent folder
            return None, REFUSED
        address = joined(folder, source)
        data = read_bytes(address, LARGEST + 1)
        if data is not None and len(data) > LARGEST:
            return None, f"larger than {LARGEST // 2**20} MiB"
        return data, None if data is not None else NOT_FOUND.format(source)
