"""Zip containers (DOCX, EPUB, ODT, PPTX), opened with limits: a few kilobytes may unpack to terabytes."""

from __future__ import annotations

import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError, one_line
from iconotext.plain_text import data_size

Element = Any  # lxml has no types of its own that mypy could check

MAX_MEMBERS = 20_000
MAX_RATIO = 200  # maximum ratio of unpacked to packed bytes: text and markup stay below 30, empty drawings below 100
RATIO_FROM = 8 * 2**20  # members with fewer unpacked bytes may have any ratio
CHUNK = 2**20
END_OF_DIRECTORY, END_OF_DIRECTORY_64, LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"


class Archive:
    """The members of an open zip file, read one at a time, with a limit on their total size."""

    def __init__(self, file: zipfile.ZipFile, max_bytes: int) -> None:
        self._file = file
        self._bytes_left = max_bytes
        self._max_bytes = max_bytes
        self._cache: dict[str, bytes] = {}
        self._members = {_clean(info.filename): info for info in file.infolist() if info.filename and not info.is_dir()}
        self._folded = {name.casefold(): name for name in self._members}

    def find(self, name: str) -> str | None:
        """Return the member for an address in the archive; case may differ, and ``%20`` is a space."""
        for candidate in (name, unquote(name)):
            clean = _clean(candidate)
            member = clean if clean in self._members else self._folded.get(clean.casefold())
            if member is not None:
                return member
        return None

    def read(self, name: str) -> bytes:
        """Return a member's bytes; they are cached. Errors are those of ``unpack``."""
        if name not in self._cache:
            self._cache[name] = self.unpack(name)
        return self._cache[name]

    @property
    def names(self) -> list[str]:
        """The members without folders: paths without ``..``, relative to the archive's root."""
        return list(self._members)

    def unpack(self, name: str) -> bytes:
        """Return a member's bytes, uncached; ``DocumentError`` if it is missing, locked, damaged, or too large."""
        info = self._members.get(name)
        if info is None:
            raise DocumentError(f"broken: {name} is missing in it; save it again with the program that made it")
        if info.flag_bits & 0x1:
            raise DocumentError("protected by a password: save it without one")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DocumentError(f"broken: {info.filename} is packed by a method that these files do not use")
        chunks: list[bytes] = []
        size = 0
        try:
            with self._file.open(info) as stream:
                while chunk := stream.read(CHUNK):
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > self._bytes_left:  # counted here, since declared sizes may be wrong
                        raise HostileDocumentError(_too_large(self._max_bytes))
                    if size > RATIO_FROM and size > MAX_RATIO * max(info.compress_size, 1):
                        raise HostileDocumentError(_bomb(info.filename))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            raise DocumentError(f"broken: {info.filename} in it is damaged; download or save it again") from error
        self._bytes_left -= size
        return b"".join(chunks)

    def xml(self, name: str) -> Element:
        """Return the root element of an XML member; errors are those of ``unpack`` and ``parse_xml``."""
        return parse_xml(self.read(name), name)


@contextmanager
def open_archive(path: Path, max_bytes: int) -> Iterator[Archive]:
    """Open a zip file, after checking its directory against the limits."""
    with path.open("rb") as stream:
        _check_directory(stream)
        try:
            file = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, struct.error) as error:
            raise DocumentError("cut off or damaged: it cannot be unpacked; download or save it again") from error
        with file:
            infos = file.infolist()
            if len(infos) > MAX_MEMBERS:
                raise HostileDocumentError(f"{len(infos)} files in it are more than the limit of {MAX_MEMBERS}")
            if sum(info.file_size for info in infos) > max_bytes:
                raise HostileDocumentError(_too_large(max_bytes))
            for info in infos:
                if info.file_size > RATIO_FROM and info.file_size > MAX_RATIO * max(info.compress_size, 1):
                    raise HostileDocumentError(_bomb(info.filename))
            yield Archive(file, max_bytes)


def parse_xml(data: bytes, name: str) -> Element:
    """Parse XML without external parts or network; ``DocumentError`` if it is broken, or declares entities."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        if b"<!ENTITY" in data:
            raise HostileDocumentError(_entities(name)) from error
        reason = one_line(error)
        raise DocumentError(f"broken: {name} in it is not well-formed XML ({reason}); save it again") from error
    internal: Element = root.getroottree().docinfo.internalDTD  # the stubs know no DTD.iterentities
    if internal is not None and any(True for _ in internal.iterentities()):
        raise HostileDocumentError(_entities(name))
    return root


def resolve(base: str, address: str) -> str:
    """Return the member for a relative address in the member ``base``; ``..`` ends at the archive's root."""
    return _clean(posixpath.join("/" + posixpath.dirname(base), address.replace("\\", "/")))


def _clean(name: str) -> str:
    return posixpath.normpath("/" + name.replace("\\", "/")).lstrip("/")


def _check_directory(stream: BinaryIO) -> None:
    """Refuse a directory with millions of entries before ``zipfile`` makes an object for each."""
    size = stream.seek(0, 2)
    start = max(0, size - 65_600)  # room for the end record of 22 bytes and after it a comment of up to 65,535
    stream.seek(start)
    tail = stream.read()
    stream.seek(0)
    at = tail.rfind(END_OF_DIRECTORY)
    if at < 0 or len(tail) < at + 22:
        raise DocumentError("cut off or damaged: it cannot be unpacked; download or save it again")
    directory: int = struct.unpack("<L", tail[at + 12 : at + 16])[0]  # its size in bytes
    locator = tail[max(0, at - 20) : at]  # names the place of a second record, of 56 bytes, in large archives
    if locator.startswith(LOCATOR_64) and len(locator) == 20:
        # Versions of zipfile take the record at the place that the locator names, or the one right before the locator.
        for place in (struct.unpack("<Q", locator[8:16])[0], start + at - 20 - 56):
            stream.seek(max(0, min(place, size)))
            record = stream.read(56)
            if record.startswith(END_OF_DIRECTORY_64) and len(record) == 56:
                directory = max(directory, struct.unpack("<Q", record[40:48])[0])
        stream.seek(0)
    # An entry has 46 bytes and a name; 1 KiB for each is far more than any program writes.
    if directory > MAX_MEMBERS * 1024:
        raise HostileDocumentError(
            f"its list of files is {directory / 2**20:.0f} MiB long: more than {MAX_MEMBERS} files"
        )


def _too_large(max_bytes: int) -> str:
    return f"unpacks to more than the limit of {data_size(max_bytes)}: the option max-bytes raises it"


def _bomb(name: str) -> str:
    return f"{name} in it unpacks to more than {MAX_RATIO} times its size: no document does"


def _entities(name: str) -> str:
    return f"{name} in it declares XML entities, which can unpack to terabytes: save it again without them"
