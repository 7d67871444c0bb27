"""Changes members of a zip file without changing any byte of the other members."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO

from iconotext.errors import DocumentError

LOCAL = struct.Struct("<4s5H3L2H")
ENTRY = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
HAS_DESCRIPTOR = 0x8
"""Flag of a member whose sizes follow its data."""

TOO_LARGE = 0xFFFFFFFF
"""Value of a size or offset that needs the zip64 format."""


def replace_members(data: bytes, changed: Mapping[str, bytes]) -> bytes:
    """The zip file with new contents for some members.

    All other members are copied without recompression, in the same order, with their dates, permissions and comments.

    Args:
        changed: Name of a member to its new contents, which are compressed like the old ones.

    Raises:
        DocumentError: The zip file cannot be changed in this way: it is larger than 4 GiB, has data before the first
            member, or has two members of the same name that is to change.
    """
    with zipfile.ZipFile(BytesIO(data)) as file:
        infos, directory = file.infolist(), file.start_dir
    names = [info.filename for info in infos]
    if any(names.count(name) != 1 for name in changed):
        raise DocumentError("two files in it have the same name: save it again with the program that made it")
    at = data.rfind(zipfile.stringEndArchive)  # type: ignore[attr-defined]  # b"PK\5\6"
    end = END.unpack_from(data, at)
    if end[6] != directory or any(TOO_LARGE in (i.file_size, i.compress_size, i.header_offset) for i in infos):
        raise DocumentError("an unusual zip file, which cannot be changed in part: save it again")
    in_place = sorted(infos, key=lambda info: info.header_offset)
    borders = [*(info.header_offset for info in in_place), directory]
    parts = [data[: borders[0]]]
    length = borders[0]
    moved: dict[int, tuple[int, bytes | None, bytes]] = {}
    for info, start, stop in zip(in_place, borders[:-1], borders[1:], strict=True):
        content = changed.get(info.filename)
        packed = b"" if content is None else _packed(content, info.compress_type)
        part = data[start:stop] if content is None else _local(data, start, content, packed)
        moved[start] = (length, content, packed)
        parts.append(part)
        length += len(part)
    listing = _directory(data[directory:at], moved)
    tail = END.pack(*end[:5], len(listing), length, end[7]) + data[at + END.size :]
    return b"".join([*parts, listing, tail])


def _packed(content: bytes, method: int) -> bytes:
    if method == zipfile.ZIP_STORED:
        return content
    pack = zlib.compressobj(wbits=-15)
    return pack.compress(content) + pack.flush()


def _local(data: bytes, start: int, content: bytes, packed: bytes) -> bytes:
    """A member with its header, with new contents."""
    head = list(LOCAL.unpack_from(data, start))
    head[2] &= ~HAS_DESCRIPTOR
    head[6:9] = zlib.crc32(content), len(packed), len(content)
    names = data[start + LOCAL.size : start + LOCAL.size + head[9] + head[10]]
    return LOCAL.pack(*head) + names + packed


def _directory(listing: bytes, moved: Mapping[int, tuple[int, bytes | None, bytes]]) -> bytes:
    """The directory, with new offsets, and new checksums and sizes of changed members."""
    parts, at = [], 0
    while listing[at : at + 4] == b"PK\x01\x02":
        entry = list(ENTRY.unpack_from(listing, at))
        size = ENTRY.size + sum(entry[10:13])
        entry[16], content, packed = moved[entry[16]]
        if content is not None:
            entry[3] &= ~HAS_DESCRIPTOR
            entry[7:10] = zlib.crc32(content), len(packed), len(content)
        parts += [ENTRY.pack(*entry), listing[at + ENTRY.size : at + size]]
        at += size
    return b"".join([*parts, listing[at:]])
