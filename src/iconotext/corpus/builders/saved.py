"""A picture that has no file of its own becomes one, named by its bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from iconotext.write import write_bytes

SIGNATURES = (
    (0, b"\xff\xd8\xff", ".jpg"),
    (0, b"\x89PNG", ".png"),
    (0, b"GIF8", ".gif"),
    (8, b"WEBP", ".webp"),
    (0, b"BM", ".bmp"),
    (0, b"II", ".tif"),
    (0, b"MM", ".tif"),
    (4, b"ftyp", ".avif"),
    (4, b"jP  ", ".jp2"),
    (0, b"\xff\x4f\xff\x51", ".j2k"),
)
"""Place and bytes by which an encoded picture is known, and the suffix of such files."""

OTHER = ".img"

SUFFIXES = tuple(dict.fromkeys([*(suffix for _, _, suffix in SIGNATURES), OTHER]))
"""All that ``suffix_of`` gives."""


def suffix_of(data: bytes) -> str:
    """The suffix that fits an encoded picture, another for one that is not known."""
    return next((suffix for start, mark, suffix in SIGNATURES if data.startswith(mark, start)), OTHER)


def saved_image(data: bytes, folder: Path) -> Path:
    """The file that has a picture, named by its SHA-256; what an earlier document or run wrote is used again.

    Raises:
        OutputError: It cannot be written.
    """
    path = folder / f"{hashlib.sha256(data).hexdigest()}{suffix_of(data)}"
    if not path.is_file() or path.stat().st_size != len(data):
        write_bytes(path, data, force=True)
    return path
