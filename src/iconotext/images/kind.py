"""Finds the kind of an image file, from its first bytes and its name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

HEAD = 4096
"""Number of bytes at the beginning of a file that show its kind."""

RAW = frozenset(
    (".3fr", ".arw", ".cr2", ".cr3", ".dng", ".iiq", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".srw")
)
"""Suffixes of the raw files of cameras."""

_RAW_HEADS = {
    b"FUJIFILMCCD-RAW": "RAF",
    b"IIRO": "ORF",
    b"IIRS": "ORF",
    b"MMOR": "ORF",
    b"IIU\x00": "RW2",
}
_TIFF = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_JPEG2000 = (b"\x00\x00\x00\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51")
_HEIF = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")

Kind = Literal["SVG", "HEIF", "other", "plain"]


def kind_of(head: bytes) -> Kind:
    """How to decode a file.

    ``plain`` is for Pillow, with the memory that the header shows; ``other`` too, but with any amount of memory.
    """
    if _is_svg(head):
        return "SVG"
    if head[4:8] == b"ftyp":
        brands = {head[8:12], *(head[at : at + 4] for at in range(16, min(int.from_bytes(head[:4]), 256), 4))}
        return "HEIF" if not brands & {b"avif", b"avis"} and brands.intersection(_HEIF) else "other"
    return "other" if head.startswith(_TIFF + _JPEG2000) else "plain"


def raw_format(head: bytes, file: Path | bytes) -> str | None:
    """The format of a raw camera file, by its suffix; None for anything else.

    The name is used too, since the bytes of some raw files look like TIFF.
    """
    suffix = file.suffix.lower() if isinstance(file, Path) else ""
    if suffix in RAW and not head.startswith((b"\xff\xd8", b"\x89PNG")):
        return suffix[1:].upper()
    if head.startswith(_TIFF) and head[8:10] == b"CR":
        return "CR2"
    if head[4:12] == b"ftypcrx ":
        return "CR3"
    return next((name for start, name in _RAW_HEADS.items() if head.startswith(start)), None)


def not_an_image(head: bytes) -> str:
    """The message for a file that is not an image: what it is instead, and what to do."""
    text = _text(head)
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page where a picture should be: open its address and save the picture itself"
    if text.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer instead of the picture: run 'git lfs pull'"
    if head.startswith(b"%PDF"):
        return "a PDF where a picture should be: convert the page to PNG"
    return "not a picture, or damaged: iconotext reads JPEG, PNG, WebP, GIF, TIFF, BMP, AVIF, HEIC, JPEG 2000 and SVG"


def _is_svg(head: bytes) -> bool:
    text = _text(head)
    return text.startswith(b"<") and b"<svg" in text and not text.startswith((b"<!doctype html", b"<html"))


def _text(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
