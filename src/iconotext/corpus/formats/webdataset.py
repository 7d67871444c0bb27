"""WebDataset tars as corpora: each sample is a document (``sample_records``); and tars of pictures (``Tar``)."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from iconotext.corpus.formats.interleaved import Page, is_mint, mint_files, mint_page
from iconotext.corpus.formats.json_lines import PACKINGS
from iconotext.corpus.row import Part, Problem, Record, Row, parse_row
from iconotext.errors import CorpusError, ImageError, one_line
from iconotext.read.sentences import split_sentences
from iconotext.system.strict_json import parse_json
from iconotext.types import Member

LARGEST = 64 * 2**20  # maximum size of a member in bytes, since it is read into memory

MAX_MEMBERS = 1_000_000  # largest number of members of a tar

TEXTS = frozenset({"json", "txt", "cls", "md5", "npy", "npz", "pyd", "pth"})
"""Suffixes of members that are not pictures."""


class Tar:
    """The members of a tar by name.

    Args:
        path: An uncompressed tar.
        address: If it is a temporary copy, the address of the original; else None.

    Attributes:
        refused: Reasons for which members were refused, with counts.
        problem: Why it cannot be read to its end; None if it can.

    Raises:
        CorpusError: The tar cannot be read at all.
    """

    def __init__(self, path: Path, address: str | None = None) -> None:
        self.path = path
        self._address = address or str(path)
        self.refused: Counter[str] = Counter()
        self.problem: str | None = None
        self._members: dict[str, tuple[int, int]] = {}  # its start in the tar, and its size
        self._by_last: dict[str, str] = {}
        self._by_address: dict[str, str] | None = None
        self._list()

    def _list(self) -> None:
        size = self.path.stat().st_size if self.path.is_file() else 0
        try:
            with tarfile.open(self.path, "r:") as tar:
                end = -1
                while (member := tar.next()) is not None:
                    if member.size < 0 or member.offset_data <= end:  # would lead back, into an endless loop
                        raise CorpusError("a member of less than no bytes")
                    end = member.offset_data
                    if len(self._members) >= MAX_MEMBERS:
                        raise CorpusError(f"more than {MAX_MEMBERS:,} members")
                    tar.members = []  # type: ignore[attr-defined]  # else it would keep all of them
                    if member.isdir():
                        continue
                    if reason := self._refusal(member, size):
                        self.refused[reason] += 1
                        continue
                    name = str(PurePosixPath(member.name))
                    self._members[name] = member.offset_data, member.size
                    self._by_last.setdefault(PurePosixPath(name).name, name)
        except FileNotFoundError as error:
            raise CorpusError(f"{self.path}: no such file") from error
        except (tarfile.TarError, CorpusError, OSError, ValueError, OverflowError, RecursionError) as error:
            reason = one_line(error)
            if not self._members:
                raise CorpusError(
                    f"{self.path}: no tar that can be read ({reason}); a packed one must be unpacked"
                ) from error
            self.problem = f"{self.path.name}: {reason}"

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
        """Whether a member has exactly this name."""
        return name in self._members

    def find(self, source: str) -> str | None:
        """Return the member with this name, this name without folders, or this original address."""
        if source in self._members:
            return source
        clean = str(PurePosixPath(source))
        if clean in self._members:
            return clean
        if "://" in source:
            return self._addresses().get(source)
        return self._by_last.get(PurePosixPath(source).name)

    def member(self, name: str) -> Member:
        """Return the place of a member."""
        return Member(self._address, *self._members[name])

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; ``CorpusError`` if the file has changed since."""
        start, size = self._members[name]
        try:
            with open(self.path, "rb") as file:  # unbuffered; on a network drive a read may give less than asked for
                file.seek(start)
                data = file.read(size)
        except OSError as error:
            raise CorpusError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        if len(data) != size:
            raise CorpusError(f"{self.path}: was cut off while it was read")
        return data

    def samples(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield groups of consecutive members with the same name up to the first dot: name, and suffix to member."""
        for key, names in groupby(self._members, _sample_key):
            yield key, {name[len(key) + 1 :]: name for name in names}

    def _addresses(self) -> dict[str, str]:
        """Return address to picture, as img2dataset writes it into the ``.json`` beside each picture."""
        if self._by_address is None:
            self._by_address = {}
            for _, parts in self.samples():
                images = [name for suffix, name in parts.items() if is_picture(suffix)]
                if "json" not in parts or not images:
                    continue
                try:
                    values = parse_json(self.read(parts["json"]).decode())
                except ValueError:
                    continue
                if isinstance(values, dict) and isinstance(address := values.get("url"), str):
                    self._by_address.setdefault(address, images[0])
        return self._by_address


def _sample_key(name: str) -> str:
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition('.')[0]}"


def tar_beside(corpus: Path) -> Path | None:
    """Return the tar with the pictures of a corpus: ``00017.tar`` for ``00017.jsonl.gz``, or the corpus itself."""
    name = corpus.name.lower()
    for packing in PACKINGS:
        name = name.removesuffix(packing)
    if name.endswith(".tar"):
        return corpus if corpus.is_file() else None
    stem = corpus.name[: len(name) - len(PurePosixPath(name).suffix)]
    tar = corpus.with_name(f"{stem}.tar") if stem else None
    return tar if tar is not None and not corpus.is_dir() and tar.is_file() else None


def is_picture(suffix: str) -> bool:
    """Return whether a member of this suffix may be a picture; ``0.jpg`` is the suffix of a sample's first picture."""
    return suffix.rpartition(".")[2].lower() not in TEXTS


def sample_parts(path: Path) -> Iterator[Part]:
    """Yield the samples, in one part; see ``sample_records``. Their pictures are members of the same tar."""
    yield partial(_records_to_the_end, path)


def count_samples(path: Path) -> int:
    """Return the number of samples, including bad ones."""
    return sum(1 for _ in Tar(path).samples())


def _records_to_the_end(path: Path) -> Iterator[Record]:
    tar = Tar(path)
    yield from sample_records(tar)
    if tar.problem is not None:
        raise CorpusError(f"{path}: cannot be read on: {tar.problem}")


def sample_records(tar: Tar) -> Iterator[Record]:
    """Yield a record for each sample.

    ``.json`` may be a row of our corpora, in which ``id`` and ``images`` are optional; else the sentences are in
    ``.txt``. ``images`` are names of members, or suffixes of the sample's own name (``0.jpg``); without them, the
    pictures of the sample are used in the order of the archive. Keys that are not columns (``url``, ``caption``) are in
    ``meta.sample``. A ``.json`` with ``texts`` and ``images`` is a document of MINT-1T (``formats.interleaved``).
    """
    for number, (key, parts) in enumerate(tar.samples(), 1):
        yield sample_page(tar, key, parts, f"sample {number}, {key}")[0]


class Members(Protocol):
    """The members of a sample, or of a tar with many."""

    def __contains__(self, name: object, /) -> bool:
        """Whether a member has exactly this name."""

    def read(self, name: str, /) -> bytes:
        """Return the bytes of a member."""


def sample_page(members: Members, key: str, parts: Mapping[str, str], place: str) -> tuple[Record, Page | None]:
    """Return the record of a sample, see ``sample_records``, and the page that a document of MINT-1T was made of.

    Args:
        key: Name of the sample.
        parts: Suffix to name of each of its members, in the order of the archive.
        place: For messages.
    """
    try:
        values = parse_json(members.read(parts["json"]).decode()) if "json" in parts else {}
        if not isinstance(values, dict):
            raise ValueError("its .json is no object")
        if "sentences" not in values and is_mint(values):
            page = mint_page(values)
            meta = {"sample": {name: value for name, value in values.items() if name not in ("texts", "images")}}
            files = mint_files(page.images, parts, members.read)
            page.images = [  # "page_3_image_85" would count as a file name that somebody chose
                parts.get(name, name) if file is None else f"image-{number}"
                for number, (name, file) in enumerate(zip(page.images, files, strict=True))
            ]
            record = parse_row(page.columns(key, meta), place)
            return replace(record, files=tuple(files) if any(files) else ()), page
        return parse_row(_values(members, key, parts, values), place), None
    except (ValueError, CorpusError, ImageError) as error:
        return Record(place, None, (Problem(place, None, one_line(error)),)), None


def _values(members: Members, key: str, parts: Mapping[str, str], values: dict[str, Any]) -> dict[str, Any]:
    images = [name for suffix, name in parts.items() if is_picture(suffix)]
    if "sentences" in values:
        if isinstance(names := values.get("images"), list):
            images = [
                parts.get(name, name) if isinstance(name, str) and name not in members else name for name in names
            ]
            values = values | {"images": images}
        other_values = {name: value for name, value in values.items() if name not in Row.model_fields}
        columns = {name: value for name, value in values.items() if name in Row.model_fields}
        if other_values and isinstance(meta := columns.get("meta", {}), dict):
            columns["meta"] = {"sample": other_values, **meta}
        return {"id": key, "images": images, **columns}
    if "txt" not in parts:
        raise ValueError("neither a .txt nor a .json with sentences, or with texts and images")
    text = " ".join(members.read(parts["txt"]).decode().split())
    return {
        "id": key,
        "sentences": [text[start:end] for start, end in split_sentences(text, "en")],
        "images": images,
        "meta": {"sample": values} if values else {},
    }
