"""What is known of a shard that was linked: what it was made of, and what became of everything in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from iconotext.corpus.image_files import content_key
from iconotext.errors import OutputError
from iconotext.scale.shards import Shard
from iconotext.scale.store import Entry, entries, entry, is_remote, joined, read_bytes, remove, write

SETUP, MANIFESTS = "_run.json", "_manifests"
"""In the output folder: what holds for all shards, and the folder of manifests. Programs that read a folder of tables
pass over names that begin so."""

EXAMPLES = 20
"""Things that went wrong that a manifest names; all of them are counted."""


class InputFile(BaseModel):
    """A file that went into a shard."""

    model_config = ConfigDict(extra="forbid")

    address: str
    size: int
    modified: int
    """Nanoseconds since 1970."""

    sha256: str | None = None
    """Of its bytes; None for a tar of pictures, of which not all is read."""

    def is_still(self, file: Entry) -> bool:
        """Whether a file is what it was: of the same size and time, else of the same bytes where these can be read."""
        if file.size != self.size:
            return False
        if file.modified == self.modified:
            return True
        return self.sha256 is not None and not is_remote(file.address) and sha256_of(Path(file.address)) == self.sha256


class Manifest(BaseModel):
    """What became of a shard. The counts of documents add up, and so do those of images."""

    model_config = ConfigDict(extra="forbid")

    shard: str
    inputs: list[InputFile]
    setup: str
    """Digest of what holds for all shards."""

    output: str
    size: int
    sha256: str
    documents: dict[str, int]
    """``read``, and what became of them: ``written``, ``broken row``, ``not in the sample``, ``cannot be linked``,
    ``without a link``."""

    images: dict[str, int]
    """``read``, of documents that were linked, and what became of them: ``usable``, ``missing``, ``unreadable``,
    ``left out``."""

    links: int
    reasons: dict[str, int] = Field(default_factory=dict)
    """Why rows, documents and images could not be used."""

    examples: list[str] = Field(default_factory=list)
    """Some of them, with their places."""

    problem: str | None = None
    """Why the shard could not be read to its end; None where it could."""


def manifest_address(output: str, shard: Shard) -> str:
    """Where the manifest of a shard lies."""
    return joined(joined(output, MANIFESTS), f"{shard.name}.json")


def manifest_of(output: str, shard: Shard) -> Manifest | None:
    """What is known of a shard from before, whether it still holds or not; None for nothing."""
    data = read_bytes(manifest_address(output, shard))
    try:
        return None if data is None else Manifest.model_validate_json(data)
    except ValidationError:  # another version's
        return None


def is_done(output: str, shard: Shard, setup: str) -> Manifest | None:
    """The manifest of a shard whose result is there and still holds; None where it must be made."""
    manifest = manifest_of(output, shard)
    files = [shard.file, *shard.beside]
    if manifest is None or manifest.setup != setup or len(manifest.inputs) != len(files):
        return None
    if not all(known.is_still(file) for known, file in zip(manifest.inputs, files, strict=True)):
        return None
    made = entry(joined(output, manifest.output))
    return manifest if made is not None and made.size == manifest.size else None


def write_manifest(output: str, shard: Shard, manifest: Manifest) -> None:
    """Write it; from now on the shard is done."""
    write(manifest_address(output, shard), f"{manifest.model_dump_json(indent=1)}\n".encode())


def forget(output: str, shard: Shard) -> None:
    """Take its manifest away before its result is replaced: no manifest ever stands beside another one's result."""
    remove(manifest_address(output, shard))


def others(output: str, shards: Iterable[Shard]) -> list[str]:
    """The names of the results in a folder that are of none of these shards."""
    folder = joined(output, MANIFESTS)
    there = entries(folder) if is_remote(folder) or Path(folder).is_dir() else []
    names = {each.address[len(joined(folder, "")) :].replace("\\", "/").removesuffix(".json") for each in there}
    return sorted(names - {shard.name for shard in shards})


def begin(output: str, setup: dict[str, Any], *, anew: bool = False) -> str:
    """Make sure that all shards of a folder are of one setup, which is noted there; its digest.

    Args:
        setup: What holds for all of its shards.
        anew: Whether another setup takes the place of the one there; shards that were made by that are made again.

    Raises:
        OutputError: The folder has shards of another setup, or files of somebody else.
    """
    address = joined(output, SETUP)
    data = read_bytes(address)
    said = _said(setup)
    if data is None:
        found = entries(output) if is_remote(output) or Path(output).is_dir() else []
        if found:
            raise OutputError(
                f"{output}: has files but no {SETUP}, so it is none of our folders ({found[0].address}): name another"
            )
        write(address, f"{said}\n".encode())
    else:
        try:
            there = json.loads(data)
        except ValueError as error:
            raise OutputError(f"{address}: damaged; name another folder") from error
        different = list(differences(there, json.loads(said)))
        if different and (anew or not others(output, ())):  # of a run that made nothing
            write(address, f"{said}\n".encode())
        elif different:
            raise OutputError(
                f"{output}: its shards were made otherwise, and no folder mixes both: {'; '.join(different)}. Name "
                "another folder, or ask for what was asked before"
            )
    return digest_of_setup(setup)


def digest_of_setup(setup: dict[str, Any]) -> str:
    """The digest of a setup."""
    return hashlib.sha256(_said(setup).encode()).hexdigest()


def _said(setup: dict[str, Any]) -> str:
    return json.dumps(setup, sort_keys=True, indent=1)


def sees(output: str, setup: str) -> bool:
    """Whether the folder of this setup can be read here, which may be another machine."""
    data = read_bytes(joined(output, SETUP))
    return data is not None and hashlib.sha256(data.removesuffix(b"\n")).hexdigest() == setup


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """What differs between two setups, in words."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            yield from differences(before.get(name), now.get(name), f"{place}.{name}" if place else name)
    elif before != now:
        was, now = (json.dumps(each, ensure_ascii=False) for each in (before, now))
        digests = all(len(each) == len('""') + 64 for each in (was, now))  # which tell nobody anything
        yield f"{place} is another" if digests else f"{place} was {was} and is {now}"


def added_up(manifests: Iterable[Manifest]) -> dict[str, Any]:
    """The sums of many manifests, and the shards that could not be read to their ends, or not at all.

    ``pictureless`` are those none of whose pictures was found, with how many these are: most often a tar is gone.
    """
    total: dict[str, Any] = {"shards": 0, "documents": {}, "images": {}, "links": 0, "reasons": {}}
    total |= {"damaged": {}, "unread": {}, "pictureless": {}}
    for each in manifests:
        total["shards"] += 1
        total["links"] += each.links
        for name in ("documents", "images", "reasons"):
            for key, number in getattr(each, name).items():
                total[name][key] = total[name].get(key, 0) + number
        if 0 < each.images.get("read", 0) == each.images.get("missing"):
            total["pictureless"][each.shard] = each.images["missing"]
        read, broken = (each.documents.get(name, 0) for name in ("read", "broken row"))
        if read == broken and (read or each.problem):
            total["unread"][each.shard] = each.problem or "every row is broken"
        elif each.problem is not None:
            total["damaged"][each.shard] = each.problem
    return total


def sha256_of(path: Path) -> str | None:
    """A digest of the bytes of a file; None where it cannot be read."""
    key = content_key(path)
    return None if key is None else key.hex()
