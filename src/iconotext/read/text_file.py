"""Text files: bytes → str, whatever the encoding."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from iconotext.errors import DocumentError

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w.:-]+)", re.I)


def decode_text(path: Path, *, html: bool = False) -> str:
    """Text of a file: by its byte order mark, what its HTML declares, UTF-8, else a detected encoding.

    Raises:
        DocumentError: The file holds no text in any encoding.
    """
    data = path.read_bytes()
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    encodings = ["utf-8"]
    if html and (declared := DECLARED.search(data[:4096])):
        name = (declared[1] or declared[2]).decode("ascii")
        try:
            encodings.insert(0, codecs.lookup(name).name)
        except LookupError:
            pass
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, UnicodeError):
            continue
    if b"\x00" in data:
        raise DocumentError(f"{path}: not a text file (it has zero bytes); save it as UTF-8 text")
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise DocumentError(f"{path}: its text encoding cannot be told; save it as UTF-8")
    return str(best)
