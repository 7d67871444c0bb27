"""Limits the number of scans of a JPEG: a scan of a few bytes may change all pixels, and there may be thousands."""

from __future__ import annotations

import re
from typing import IO

from iconotext.errors import ImageError

MAX_SCANS = 100
"""Maximum number of scans; encoders make about a dozen."""

MAX_PARTS = 10_000
"""Maximum number of scans, tables and other segments; photographs with much metadata have some hundreds."""

_CHUNK = 2**14
# What begins a part, its length, and of a scan how many components are in it. The numbers left out are a 255 within a
# scan, the restarts there, and padding.
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])(..)(.)", re.DOTALL)
_LONGEST = 5
_FIRST_WITH_LENGTH, _END, _SCAN = 0xC0, 0xD9, 0xDA


def check_scans(stream: IO[bytes], components: int, *, progressive: bool) -> None:
    """Refuse a JPEG with too many scans. Only its markers are read; nothing is decoded.

    Args:
        stream: The file, from its beginning; its position afterwards is undefined.
        components: Of the frame: 1 for grey, 3 for colours.
        progressive: If False, a first scan of all components is the only one, and the file is read no further.

    Raises:
        ImageError: More than ``MAX_SCANS``, or more than ``MAX_PARTS``.
    """
    scans, at = 0, 2
    chunk, start = b"", 0
    for _ in range(MAX_PARTS):
        found = None
        while found is None:
            if not start <= at <= start + len(chunk) - _LONGEST:
                stream.seek(at)
                chunk, start = stream.read(_CHUNK), at
                if len(chunk) < _LONGEST:
                    return  # its end
            found = _MARKER.search(chunk, at - start)
            if found is None:
                at = start + len(chunk) - _LONGEST + 1
        kind, length, inside = found[1][0], int.from_bytes(found[2]), found[3][0]
        at = start + found.start() + 2
        if kind == _END:
            return
        if kind >= _FIRST_WITH_LENGTH:
            at += length
        if kind == _SCAN:
            scans += 1
            if scans > MAX_SCANS:
                raise ImageError(f"a JPEG of more than {MAX_SCANS} scans, which no program makes: save it again")
            if not progressive and inside == components:
                return
    raise ImageError(f"a JPEG of more than {MAX_PARTS:,} parts, which no program makes: save it again")
