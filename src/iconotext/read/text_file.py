"""Text files: their encoding, and the files that they include."""

from __future__ import annotations

import codecs
import contextlib
import re
from pathlib import Path

from iconotext.errors import DocumentError, ImageError
from iconotext.read.address import MAX_LENGTH, SCHEME, inside
from iconotext.read.settings import ReadSettings

BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
DECLARED = re.compile(
    rb"<(?:meta[^<>]{1,2000}?charset\s*+=\s*+[\"']?\s*+|\?xml[^<>]{1,200}?encoding\s*+=\s*+[\"'])([\w.:-]{1,40})",
    re.IGNORECASE,
)
_WITH_MARK = frozenset(encoding for _, encoding in BYTE_ORDER_MARKS)
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
    """Decode a text file; see ``decode_bytes``."""
    return decode_bytes(path.read_bytes(), str(path), html=html)


def decode_bytes(data: bytes, name: str, *, html: bool = False) -> str:
    """Decode bytes with the encoding of ``text_encoding``."""
    encoding = text_encoding(data, name, html=html)
    return data.decode(encoding, errors="replace" if encoding in _WITH_MARK else "strict")


def text_encoding(data: bytes, name: str, *, html: bool = False) -> str:
    """Return the encoding: of the byte order mark, else of the HTML declaration, else UTF-8, else a detected one."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    encodings = ["utf-8"]
    if html and (declared := DECLARED.search(data[:4096])):
        with contextlib.suppress(LookupError):  # a name that is no encoding
            declared_name = codecs.lookup(declared[1].decode("ascii")).name
            if PAGE_ENCODINGS.fullmatch(declared_name):
                encodings.insert(0, declared_name)
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


MAX_INCLUDED = 200  # maximum number of included files of a document
MAX_BYTES = 16 * 2**20  # maximum size of all included files together, in bytes


class Includes:
    """The files that a document includes, from ``settings.root`` or its own folder; each once, so that cycles end.

    Attributes:
        unread: Files that could not be included, with reasons, a line each.
    """

    def __init__(self, document: Path, settings: ReadSettings) -> None:
        self._root = settings.root or document.parent
        self._settings = settings
        self._included = {document.resolve()}
        self._bytes = 0
        self.unread: list[str] = []

    def text(self, name: str, including: Path) -> tuple[Path, str] | None:
        """Return an included file and its text; None if it was included before, or cannot be read (see ``unread``).

        Args:
            name: As in the document, relative to the folder of the including file; a name that begins with ``/`` is
                relative to the root.
        """
        try:
            path = self._path(name, including)
            if path.resolve() in self._included:
                return None
            size = path.stat().st_size
            if len(self._included) > MAX_INCLUDED or self._bytes + size > MAX_BYTES:
                raise ImageError(f"more than {MAX_INCLUDED} files or {MAX_BYTES / 2**20:.0f} MiB are not taken in")
            self._included.add(path.resolve())
            self._bytes += size
            return path, decode_text(path)
        except (ImageError, DocumentError, OSError) as error:
            why = f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            self.unread.append(f"{name[:200]}, which it takes in, is left out: {why}")
            return None

    def _path(self, name: str, including: Path) -> Path:
        if len(name) > MAX_LENGTH or "\x00" in name:
            raise ImageError("not a usable name")
        if SCHEME.match(name):
            raise ImageError("not a file beside it")
        base = self._root if name.startswith("/") else including.parent
        path = inside(base / name.lstrip("/"), self._root, self._settings)
        if path is None:
            raise ImageError("not found")
        return path
