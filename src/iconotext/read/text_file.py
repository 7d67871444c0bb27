"""Text files: bytes → str, whatever the encoding."""

from __future__ import annotations

import codecs
import contextlib
import re
from pathlib import Path

from iconotext.errors import DocumentError

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
DECLARED = re.compile(
    rb"<(?:meta[^<>]{1,2000}?charset\s*+=\s*+[\"']?\s*+|\?xml[^<>]{1,200}?encoding\s*+=\s*+[\"'])([\w.:-]{1,40})",
    re.IGNORECASE,
)
_MARKED = frozenset(encoding for _, encoding in MARKS)
PAGE_ENCODINGS = re.compile(
    r"utf-(?:8|16|32)(?:-[bl]e)?|iso8859-\d+|ascii|cp\d+|koi8-[rtu]|mac-\w+|gb\w*|hz|big5\w*|ptcp154|tis-620"
    r"|euc_\w+|iso2022_\w+|shift_jis\w*|johab"
)
"""Encodings that a page may declare. Python knows more under such names: hex, zip files, escapes of its own strings,
and punycode, which takes quadratic time."""

# Encodings in which files without a declaration are still written. The detector alone prefers rarer relatives of these
# (cp775, cp1250), in which the same bytes are other letters; as browsers do, we prefer Western European.
LEGACY = "cp1252 cp1251 koi8_r cp1253 cp1255 cp1256 shift_jis euc_jp gb18030 big5 euc_kr".split()


def decode_text(path: Path, *, html: bool = False) -> str:
    """Text of a file; see ``decode_bytes``."""
    return decode_bytes(path.read_bytes(), str(path), html=html)


def decode_bytes(data: bytes, name: str, *, html: bool = False) -> str:
    """Text in the encoding that ``text_encoding`` tells.

    Raises:
        DocumentError: There is no text in it in any encoding; the message begins with ``name``.
    """
    encoding = text_encoding(data, name, html=html)
    return data.decode(encoding, errors="replace" if encoding in _MARKED else "strict")


def text_encoding(data: bytes, name: str, *, html: bool = False) -> str:
    """The encoding by the byte order mark, what the HTML declares, UTF-8, else a detected one.

    Raises:
        DocumentError: There is no text in it in any encoding; the message begins with ``name``.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    encodings = ["utf-8"]
    if html and (declared := DECLARED.search(data[:4096])):
        with contextlib.suppress(LookupError):  # a name that is no encoding
            name_ = codecs.lookup(declared[1].decode("ascii")).name
            if PAGE_ENCODINGS.fullmatch(name_):
                encodings.insert(0, name_)
    for encoding in encodings:
        with contextlib.suppress(UnicodeError):
            data.decode(encoding)
            return encoding
    if b"\x00" in data:
        raise DocumentError(f"{name}: not a text file (it has zero bytes); save it as UTF-8 text")
    from charset_normalizer import from_bytes

    best = from_bytes(data, cp_isolation=LEGACY).best() or from_bytes(data).best()
    if best is None:
        raise DocumentError(f"{name}: its text encoding cannot be told; save it as UTF-8")
    return best.encoding
