"""Results of shards: their manifests, the setup that all results of a folder share, and results as input."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from iconotext.corpus.formats.json_lines import json_lines
from iconotext.corpus.formats.table import table_rows
from iconotext.corpus.image_files import content_key
from iconotext.corpus.shards import MANIFESTS, Counts, Shard, ShardSettings, shard_documents
from iconotext.errors import CorpusError, OutputError, one_line
from iconotext.system.object_store import (
    Entry,
    address_of,
    entries,
    entry,
    is_remote,
    joined,
    local_files,
    read_bytes,
    remove,
    write,
)
from iconotext.system.strict_json import parse_json
from iconotext.types import Document, Link, LinkedDocument

SETUP = "_run.json"
"""In the output folder: the file with the setup of all shards. Programs that read folders of tables skip names that
begin with an underscore, as those of ``MANIFESTS``."""

COLUMNS = ["document", "image", "problem", "sentence", "score", "confidence"]


class InputFile(BaseModel):
    """An input file of a shard."""

    model_config = ConfigDict(extra="forbid")

    address: str
    size: int
    modified: int
    """Time of the last change, in nanoseconds since 1970."""

    sha256: str | None = None
    """Digest of the contents; None for a tar of pictures, which is not read in full."""

    def is_still(self, file: Entry) -> bool:
        """Whether a file has not changed: same size and time, or else same size and contents, if they can be read."""
        if file.size != self.size:
            return False
        if file.modified == self.modified:
            return True
        return self.sha256 is not None and not is_remote(file.address) and sha256_of(Path(file.address)) == self.sha256


class Manifest(BaseModel):
    """The result of linking a shard. The values of ``documents`` sum to ``read``, as do those of ``images``."""

    model_config = ConfigDict(extra="forbid")

    shard: str
    inputs: list[InputFile]
    setup: str
    """Digest of the setup of the run: version, models and settings."""

    output: str
    size: int
    sha256: str
    documents: dict[str, int]
    """``read``, and the numbers of these by outcome: ``written``, ``broken row``, ``not in the sample``, ``cannot be
    linked``, ``without a link``.
    """

    images: dict[str, int]
    """``read``, in documents that were linked, and the numbers of these by outcome: ``usable``, ``missing``,
    ``unreadable``, ``left out``.
    """

    links: int
    reasons: dict[str, int] = Field(default_factory=dict)
    """Reasons why rows, documents and images could not be used, with counts."""

    examples: list[str] = Field(default_factory=list)
    """Some of these problems, with their places."""

    problem: str | None = None
    """Why the shard could not be read to its end; None if it could."""


def manifest_address(output: str, shard: Shard) -> str:
    """Address of the manifest of a shard."""
    return joined(joined(output, MANIFESTS), f"{shard.name}.json")


def manifest_of(output: str, shard: Shard) -> Manifest | None:
    """The manifest of a shard, even if it is out of date; None without one."""
    data = read_bytes(manifest_address(output, shard))
    try:
        return None if data is None else Manifest.model_validate_json(data)
    except ValidationError:  # written by another version
        return None


def is_done(output: str, shard: Shard, setup: str) -> Manifest | None:
    """The manifest of a shard, if its result exists and is up to date; None if the shard must be linked."""
    manifest = manifest_of(output, shard)
    files = [shard.file, *shard.beside]
    if manifest is None or manifest.setup != setup or len(manifest.inputs) != len(files):
        return None
    if not all(earlier.is_still(file) for earlier, file in zip(manifest.inputs, files, strict=True)):
        return None
    result = entry(joined(output, manifest.output))
    return manifest if result is not None and result.size == manifest.size else None


def write_manifest(output: str, shard: Shard, manifest: Manifest) -> None:
    """Write the manifest; this marks the shard as done."""
    write(manifest_address(output, shard), f"{manifest.model_dump_json(indent=1)}\n".encode())


def forget(output: str, shard: Shard) -> None:
    """Remove the manifest before the result is replaced, so that a manifest never belongs to another result."""
    remove(manifest_address(output, shard))


def other_results(output: str, shards: Iterable[Shard]) -> list[str]:
    """The names of results in a folder that belong to none of these shards."""
    folder = joined(output, MANIFESTS)
    files = entries(folder) if is_remote(folder) or Path(folder).is_dir() else []
    names = {file.address[len(joined(folder, "")) :].replace("\\", "/").removesuffix(".json") for file in files}
    return sorted(names - {shard.name for shard in shards})


def begin(output: str, setup: dict[str, Any]) -> str:
    """Write the setup of a folder's shards, or check that it is the same as before; returns its digest.

    Args:
        setup: Settings and models that all shards of the folder share.

    Raises:
        OutputError: The folder has shards of another setup, or other files.
    """
    address = joined(output, SETUP)
    data = read_bytes(address)
    text = _as_text(setup)
    if data is None:
        files = entries(output) if is_remote(output) or Path(output).is_dir() else []
        if files:
            raise OutputError(
                f"{output}: has files but no {SETUP}, so it is none of our folders ({files[0].address}): name another"
            )
        write(address, f"{text}\n".encode())
    else:
        try:
            stored = parse_json(data)
        except ValueError as error:
            raise OutputError(f"{address}: damaged; name another folder") from error
        different = list(differences(stored, parse_json(text)))
        if different and not other_results(output, ()):  # of a run that wrote no result
            write(address, f"{text}\n".encode())
        elif different:
            raise OutputError(
                f"{output}: its shards were made otherwise, and no folder mixes both: {'; '.join(different)}. Name "
                "another folder, or ask for what was asked before"
            )
    return digest_of_setup(setup)


def digest_of_setup(setup: dict[str, Any]) -> str:
    """SHA-256 of a setup."""
    return hashlib.sha256(_as_text(setup).encode()).hexdigest()


def _as_text(setup: dict[str, Any]) -> str:
    return json.dumps(setup, sort_keys=True, indent=1)


def sees(output: str, setup: str) -> bool:
    """Whether this machine can read the folder with this setup; the run may have begun on another machine."""
    data = read_bytes(joined(output, SETUP))
    return data is not None and hashlib.sha256(data.removesuffix(b"\n")).hexdigest() == setup


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """The differences between two setups, in words."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            yield from differences(before.get(name), now.get(name), f"{place}.{name}" if place else name)
    elif before != now:
        was, now = (json.dumps(value, ensure_ascii=False) for value in (before, now))
        digests = all(len(text) == len('""') + 64 for text in (was, now))  # digests are meaningless to a reader
        yield f"{place} is another" if digests else f"{place} was {was} and is {now}"


def sum_manifests(manifests: Iterable[Manifest]) -> dict[str, Any]:
    """Sum many manifests, and list the shards that could not be read, or not to their ends.

    ``pictureless`` maps shards without any available picture to their number of pictures; most often a tar is missing.
    """
    total: dict[str, Any] = {"shards": 0, "documents": {}, "images": {}, "links": 0, "reasons": {}}
    total |= {"damaged": {}, "unread": {}, "pictureless": {}}
    for manifest in manifests:
        total["shards"] += 1
        total["links"] += manifest.links
        for name in ("documents", "images", "reasons"):
            for key, number in getattr(manifest, name).items():
                total[name][key] = total[name].get(key, 0) + number
        if 0 < manifest.images.get("read", 0) == manifest.images.get("missing"):
            total["pictureless"][manifest.shard] = manifest.images["missing"]
        read, broken = (manifest.documents.get(name, 0) for name in ("read", "broken row"))
        if read == broken and (read or manifest.problem):
            total["unread"][manifest.shard] = manifest.problem or "every row is broken"
        elif manifest.problem is not None:
            total["damaged"][manifest.shard] = manifest.problem
    return total


def sha256_of(path: Path) -> str | None:
    """SHA-256 of the contents of a file; None if it cannot be read."""
    key = content_key(path)
    return None if key is None else key.hex()


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
        for recorded in self.manifest.inputs:
            current = entry(recorded.address)
            if current is None or not recorded.is_still(current):
                fault = "is not there any more" if current is None else "has changed since it was linked: link it again"
                raise CorpusError(f"{address_of(self.file)}: its shard {recorded.address} {fault}")
            files.append(current)
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
    folder = next((place for place in places if entry(address_of(place / SETUP)) is not None), None)
    if folder is None:
        return None
    name = file.relative_to(folder).as_posix()
    try:
        setup = parse_json(_bytes_of(folder / SETUP))
        manifest = Manifest.model_validate_json(_bytes_of((folder / MANIFESTS / name).with_suffix(".json")))
        stored = entry(address_of(file))
        if manifest.output != name or stored is None or manifest.size != stored.size:
            raise ValueError("its manifest is of another file")
        if "linking" not in setup:
            raise ValueError("no links are in it")
        settings = ShardSettings.model_validate(setup["shards"])
        return Result(file, manifest, settings, str(setup["model"]["name"]))
    except (OSError, ValueError, ValidationError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else one_line(error)[:200]
        raise CorpusError(f"{address_of(file)}: not a shard of results that can be read: {reason}") from error


def _bytes_of(file: Path) -> bytes:
    data = read_bytes(address_of(file))
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return data


def linked_documents_of(result: Result, shard: Shard, counts: Counts) -> Iterator[LinkedDocument]:
    """The documents of a result, with the same pictures as when they were linked.

    Args:
        counts: Counts the shard's broken rows.

    Raises:
        CorpusError: The result cannot be read, or has a document that the shard lacks.
    """
    settings = result.settings.model_copy(update={"sample": 1.0, "without": None})
    address = address_of(result.file)
    with local_files(address) as (file,), local_files(*(file.address for file in (shard.file, *shard.beside))) as paths:
        try:
            yield from _joined(result, _documents(file), shard_documents(shard, paths, counts, settings))
        except CorpusError as error:
            raise CorpusError(str(error).replace(str(file), address)) from error


def _joined(result: Result, rows: Iterator[_Row], documents: Iterator[Document]) -> Iterator[LinkedDocument]:
    row = next(rows, None)
    for document in documents:
        if row is None:
            return
        if document.id != row.document:
            continue  # the result lacks this document of the shard
        images = tuple(replace(e, problem=row.problems.get(n) or e.problem) for n, e in enumerate(document.images))
        nothing = np.zeros((len(document.sentences), len(images)), np.float32)
        yield LinkedDocument(replace(document, images=images), row.links, nothing, result.model)
        row = next(rows, None)
    if row is not None:
        raise CorpusError(f"{address_of(result.file)}: the document {row.document!r} is not in its shard")


class _Row(NamedTuple):
    """One document of a result: its id, image number to problem, and its links."""

    document: str
    problems: dict[int, str]
    links: tuple[Link, ...]


def _documents(file: Path) -> Iterator[_Row]:
    if file.suffix == ".jsonl":
        for number, value, problem in json_lines(file):
            if problem is not None:
                raise CorpusError(f"{file}, line {number}: {problem.message}")
            try:
                problems = {n: image["problem"] for n, image in enumerate(value["images"]) if image["problem"]}
                yield _Row(value["id"], problems, tuple(_link(link) for link in value["links"]))
            except (KeyError, TypeError) as error:
                raise CorpusError(f"{file}, line {number}: not a linked document: {error}") from error
        return
    for name, rows in groupby(table_rows(file, COLUMNS), key=lambda row: str(row["document"])):
        pairs = list(rows)
        problems = {row["image"]: row["problem"] for row in pairs if row["problem"] is not None}
        yield _Row(name, problems, tuple(_link(row) for row in pairs if row["sentence"] is not None))


def _link(values: dict[str, Any]) -> Link:
    return Link(values["sentence"], values["image"], values["score"], values["confidence"], {})
