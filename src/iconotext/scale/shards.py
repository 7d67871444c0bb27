"""Finds shards, the tars beside them, and the names of their results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from iconotext.errors import CorpusError, OutputError
from iconotext.scale.store import Entry, entries, entry, joined, split_address

SUFFIXES = (".parquet", ".pq", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.zip", ".tar")
"""File name suffixes of shards."""


@dataclass(frozen=True, slots=True)
class Shard:
    """An input shard.

    Attributes:
        name: Of its result, without suffix; relative to the folder that the user named.
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
    """Whether a file was written by a program beside its tables, and is no shard."""
    return any(part.startswith("_") for part in name.split("/"))


def _key(file: Entry) -> str:
    return _stem(file.address)


def _stem(name: str) -> str:
    suffix = next((each for each in sorted(SUFFIXES, key=len, reverse=True) if name.endswith(each)), None)
    return name.removesuffix(suffix if suffix is not None else PurePosixPath(name).suffix)
