"""Pictures and texts in a tar, as WebDataset and img2dataset write them, read where they lie.

Nothing is unpacked to disk: names are keys and no paths, and still those that lead out are refused.
"""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from iconotext.errors import CorpusError
from iconotext.strict_json import parse_json
from iconotext.types import Member

LARGEST = 64 * 2**20
"""Bytes of a member that is read at all: it lies in memory."""

MAX_MEMBERS = 1_000_000
"""Members of a tar."""

TEXTS = frozenset({"json", "txt", "cls", "md5", "npy", "npz", "pyd", "pth"})
"""Suffixes of members that are no pictures."""


class Place(NamedTuple):
    """Where a member lies in its tar, in bytes."""

    start: int
    size: int


class Tar:
    """The members of a tar by name.

    Args:
        path: A tar that is not packed.
        address: Of what it is a copy; None where it is none.

    Attributes:
        refused: Why members were refused, and how many each.
        problem: Why it cannot be read to its end; None where it can.

    Raises:
        CorpusError: It cannot be read at all.
    """

    def __init__(self, path: Path, address: str | None = None) -> None:
        self.path = path
        self._address = address or str(path)
        self.refused: Counter[str] = Counter()
        self.problem: str | None = None
        self._members: dict[str, Place] = {}
        self._by_last: dict[str, str] = {}
        self._by_address: dict[str, str] | None = None
        self._list()

    def _list(self) -> None:
        size = self.path.stat().st_size if self.path.is_file() else 0
        try:
            with tarfile.open(self.path, "r:") as tar:
                end = -1
                while (member := tar.next()) is not None:
                    if member.size < 0 or member.offset_data <= end:  # would lead back, and round in a circle
                        raise CorpusError("a member of less than no bytes")
                    end = member.offset_data
                    if len(self._members) >= MAX_MEMBERS:
                        raise CorpusError(f"more than {MAX_MEMBERS:,} members")
                    tar.members = []  # type: ignore[attr-defined]  # it would remember all of them, see its source
                    if member.isdir():
                        continue
                    if reason := self._refusal(member, size):
                        self.refused[reason] += 1
                        continue
                    name = str(PurePosixPath(member.name))
                    self._members[name] = Place(member.offset_data, member.size)
                    self._by_last.setdefault(PurePosixPath(name).name, name)
        except FileNotFoundError as error:
            raise CorpusError(f"{self.path}: no such file") from error
        except (tarfile.TarError, CorpusError, OSError, ValueError, OverflowError, RecursionError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            if not self._members:
                raise CorpusError(
                    f"{self.path}: no tar that can be read ({said}); a packed one must be unpacked"
                ) from error
            self.problem = f"{self.path.name}: {said}"

    def _refusal(self, member: tarfile.TarInfo, size: int) -> str | None:
        if not member.isreg() or member.issparse():
            return "a link, a device or the like"
        path = PurePosixPath(member.name)
        odd = "\\" in member.name or not member.name.isprintable()
        if odd or path.is_absolute() or ".." in path.parts or not path.name:
            return "a name that leads out of the archive"
        if member.size > LARGEST:
            return f"larger than {LARGEST // 2**20} MiB"
        if member.offset_data + member.size > size:
            return "cut off"
        return "a name that is there already" if str(path) in self._members else None

    def __contains__(self, name: object) -> bool:
        """Whether a member has just this name."""
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        """Names in the order of the archive."""
        return iter(self._members)

    def find(self, source: str) -> str | None:
        """The member that a document means: by its name, its name without folders, or the address it came from."""
        if source in self._members:
            return source
        clean = str(PurePosixPath(source))
        if clean in self._members:
            return clean
        if "://" in source:
            return self._addresses().get(source)
        return self._by_last.get(PurePosixPath(source).name)

    def member(self, name: str) -> Member:
        """Where a member lies."""
        return Member(self._address, *self._members[name])

    def read(self, name: str) -> bytes:
        """The bytes of a member; ``CorpusError`` where the file has changed meanwhile."""
        start, size = self._members[name]
        try:
            with open(self.path, "rb") as file:  # unbuffered, a network's file may give less than was asked for
                file.seek(start)
                data = file.read(size)
        except OSError as error:
            raise CorpusError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if len(data) != size:
            raise CorpusError(f"{self.path}: was cut off while it was read")
        return data

    def samples(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Neighbouring members of one name, which ends at the first dot: the name, and each member by what follows."""
        key, parts = None, dict[str, str]()
        for name in self._members:
            folder, last = str(PurePosixPath(name).parent), PurePosixPath(name).name
            stem, _, suffix = last.partition(".")
            own = stem if folder == "." else f"{folder}/{stem}"
            if own != key:
                if key is not None and parts:
                    yield key, parts
                key, parts = own, {}
            parts[suffix] = name
        if key is not None and parts:
            yield key, parts

    def _addresses(self) -> dict[str, str]:
        """The picture of each address, as img2dataset notes it in the ``.json`` beside each."""
        if self._by_address is None:
            self._by_address = {}
            for _, parts in self.samples():
                images = [name for suffix, name in parts.items() if is_picture(suffix)]
                if "json" not in parts or not images:
                    continue
                try:
                    said = parse_json(self.read(parts["json"]).decode())
                except ValueError:
                    continue
                if isinstance(said, dict) and isinstance(address := said.get("url"), str):
                    self._by_address.setdefault(address, images[0])
        return self._by_address


def tar_beside(corpus: Path) -> Path | None:
    """The tar with the pictures of a corpus: ``00017.tar`` beside ``00017.jsonl.gz``, or the file itself."""
    name = corpus.name.lower()
    for packed in (".gz", ".zst", ".zip"):
        name = name.removesuffix(packed)
    if name.endswith(".tar"):
        return corpus if corpus.is_file() else None
    stem = corpus.name[: len(name) - len(PurePosixPath(name).suffix)]
    tar = corpus.with_name(f"{stem}.tar") if stem else None
    return tar if tar is not None and not corpus.is_dir() and tar.is_file() else None


def is_picture(suffix: str) -> bool:
    """Whether a member of this suffix may be a picture; ``0.jpg`` is the suffix of a sample's first."""
    return suffix.rpartition(".")[2].lower() not in TEXTS
