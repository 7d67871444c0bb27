"""Results of shards as input: a shard's documents with their links, and corpora that consist of many shards.

``find_result`` recognises a result, ``linked_again`` reads it with its shard; ``corpus_files`` and ``documents_of``
read a folder of shards as one corpus.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from iconotext.corpus.formats.json_lines import json_lines
from iconotext.corpus.formats.released import DOCUMENTS_FILE
from iconotext.corpus.formats.table import table_rows
from iconotext.corpus.row import Row
from iconotext.corpus.store import read_corpus, read_rows
from iconotext.errors import CorpusError
from iconotext.scale.manifest import MANIFESTS, SETUP, Manifest
from iconotext.scale.settings import ShardSettings
from iconotext.scale.shards import Shard, find_shards
from iconotext.scale.stage import Counts, Stage
from iconotext.system.object_store import address_of, at_hand, entry, is_remote, read_bytes
from iconotext.system.strict_json import parse_json
from iconotext.types import Document, Link, LinkedDocument

COLUMNS = ["document", "image", "problem", "sentence", "score", "confidence"]


@dataclass(frozen=True, slots=True)
class Result:
    """A result of a shard, with its manifest and the settings and model of its run."""

    file: Path
    manifest: Manifest
    settings: ShardSettings
    model: str

    def shard(self) -> Shard:
        """The shard that was linked.

        Raises:
            CorpusError: The shard, or a tar beside it, is missing or has changed since it was linked.
        """
        files = []
        for known in self.manifest.inputs:
            there = entry(known.address)
            if there is None or not known.is_still(there):
                what = "is not there any more" if there is None else "has changed since it was linked: link it again"
                raise CorpusError(f"{address_of(self.file)}: its shard {known.address} {what}")
            files.append(there)
        return Shard(files[0], self.manifest.shard, tuple(files[1:]))


def has_no_links(folder: Path) -> bool:
    """Whether a folder has results of shards without links: features, or hashes of pictures."""
    try:
        setup = parse_json(read_bytes(address_of(folder / SETUP)) or b"{}")
    except (OSError, ValueError):
        return False
    return isinstance(setup, dict) and {"iconotext", "shards"} <= setup.keys() and "linking" not in setup


def find_result(file: Path) -> Result | None:
    """The result in a file, with its manifest; None if the file is not in a folder of results.

    Raises:
        CorpusError: The file is in a folder of results, but differs from its manifest, or has no links.
    """
    places = file.parents[: -2 if is_remote(address_of(file)) else None]  # the root of a store is not a folder
    folder = next((each for each in places if entry(address_of(each / SETUP)) is not None), None)
    if folder is None:
        return None
    name = file.relative_to(folder).as_posix()
    try:
        setup = parse_json(_held(folder / SETUP))
        manifest = Manifest.model_validate_json(_held((folder / MANIFESTS / name).with_suffix(".json")))
        there = entry(address_of(file))
        if manifest.output != name or there is None or manifest.size != there.size:
            raise ValueError("its manifest is of another file")
        if "linking" not in setup:
            raise ValueError("no links are in it")
        settings = ShardSettings.model_validate(setup["shards"])
        return Result(file, manifest, settings, str(setup["model"]["name"]))
    except (OSError, ValueError, ValidationError, KeyError, TypeError) as error:
        said = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())[:200]
        raise CorpusError(f"{address_of(file)}: not a shard of results that can be read: {said}") from error


def _held(file: Path) -> bytes:
    held = read_bytes(address_of(file))
    if held is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return held


def linked_again(result: Result, shard: Shard, counts: Counts) -> Iterator[LinkedDocument]:
    """The documents of a result, with the same pictures as when they were linked.

    Args:
        counts: Counts the shard's broken rows.

    Raises:
        CorpusError: The result cannot be read, or has a document that the shard lacks.
    """
    stage = Stage("", "", settings=result.settings.model_copy(update={"sample": 1.0, "without": None}))
    address = address_of(result.file)
    with at_hand(address) as (file,), at_hand(*(each.address for each in (shard.file, *shard.beside))) as paths:
        try:
            yield from _joined(result, _found(file), stage.documents(shard, paths, counts))
        except CorpusError as error:
            raise CorpusError(str(error).replace(str(file), address)) from error


def _joined(result: Result, known: Iterator[_Found], documents: Iterator[Document]) -> Iterator[LinkedDocument]:
    wanted = next(known, None)
    for document in documents:
        if wanted is None:
            return
        if document.id != wanted.document:
            continue  # the result lacks this document of the shard
        images = tuple(replace(e, problem=wanted.problems.get(n) or e.problem) for n, e in enumerate(document.images))
        nothing = np.zeros((len(document.sentences), len(images)), np.float32)
        yield LinkedDocument(replace(document, images=images), wanted.links, nothing, result.model)
        wanted = next(known, None)
    if wanted is not None:
        raise CorpusError(f"{address_of(result.file)}: the document {wanted.document!r} is not in its shard")


class _Found(NamedTuple):
    """One document of a result: its id, image number to problem, and its links."""

    document: str
    problems: dict[int, str]
    links: tuple[Link, ...]


def _found(file: Path) -> Iterator[_Found]:
    if file.suffix == ".jsonl":
        for number, value, problem in json_lines(file):
            if problem is not None:
                raise CorpusError(f"{file}, line {number}: {problem.message}")
            try:
                problems = {n: image["problem"] for n, image in enumerate(value["images"]) if image["problem"]}
                yield _Found(value["id"], problems, tuple(_link(link) for link in value["links"]))
            except (KeyError, TypeError) as error:
                raise CorpusError(f"{file}, line {number}: not a linked document: {error}") from error
        return
    for name, rows in groupby(table_rows(file, COLUMNS), key=lambda row: str(row["document"])):
        some = list(rows)
        problems = {row["image"]: row["problem"] for row in some if row["problem"] is not None}
        yield _Found(name, problems, tuple(_link(row) for row in some if row["sentence"] is not None))


def _link(said: dict[str, Any]) -> Link:
    return Link(said["sentence"], said["image"], said["score"], said["confidence"], {})


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
        inside: Whether pictures outside its folder count as missing; always so for a store.

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
