"""The formats of pictures, and the size and the pixels of one encoded picture, decoded in this process.

``images`` decides when these functions are safe without the worker process.
"""

from __future__ import annotations

import io
import math
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from PIL import Image as Pillow
from PIL import UnidentifiedImageError
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile

from iconotext.errors import ImageError, one_line
from iconotext.images.raster import check_scans, decode_heif, heif_size, upright_rgb
from iconotext.plain_text import listed

HEAD = 4096  # number of bytes at the beginning of a file that show its kind

RAW = frozenset(
    (".3fr", ".arw", ".cr2", ".cr3", ".dng", ".iiq", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".srw")
)
"""Suffixes of the raw files of cameras."""

_RAW_HEADS = {b"FUJIFILMCCD-RAW": "RAF", b"IIRO": "ORF", b"IIRS": "ORF", b"MMOR": "ORF", b"IIU\x00": "RW2"}
_TIFF = (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")

Decoder = Literal["plain", "isolated", "heif", "svg"]
"""``plain`` is Pillow, with the memory that the header shows; ``isolated`` is Pillow with any amount of memory."""


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """A format of pictures: a row of the table.

    Attributes:
        suffixes: Suffixes of its files; decoding goes by the first bytes alone.
        heads: The first bytes of its files.
        brands: For files of ISO media (``ftyp``), the brands of which its files name at least one.
        readers: The names of Pillow's readers. Those that run other programs (EPS) must not be used on untrusted files.
    """

    name: str
    suffixes: tuple[str, ...]
    summary: str
    decoder: Decoder = "plain"
    heads: tuple[bytes, ...] = ()
    brands: tuple[bytes, ...] = ()
    readers: tuple[str, ...] = ()

    @property
    def media_type(self) -> str:
        """The type in messages of the web and in notebooks: ``image/png``."""
        return "image/svg+xml" if self.name == "SVG" else f"image/{self.name.lower()}"


SVG = ImageFormat(
    "SVG",
    (".svg",),
    "Drawn with a longer side of 1,024 pixels, without scripts and without other files.",
    decoder="svg",
)

IMAGE_FORMATS = (
    ImageFormat(
        "JPEG", (".jpg", ".jpeg", ".jpe"), "Turned as its EXIF data says.", heads=(b"\xff\xd8\xff",), readers=("JPEG",)
    ),
    ImageFormat("PNG", (".png",), "On white; 16 bits of grey become 8.", heads=(b"\x89PNG",), readers=("PNG",)),
    ImageFormat("WebP", (".webp",), "The first frame, on white.", heads=(b"RIFF",), readers=("WEBP",)),
    ImageFormat("GIF", (".gif",), "The first frame, on white.", heads=(b"GIF8",), readers=("GIF",)),
    ImageFormat(
        "TIFF",
        (".tif", ".tiff"),
        "The first page; raw files of cameras are refused.",
        decoder="isolated",
        heads=_TIFF,
        readers=("TIFF",),
    ),
    ImageFormat(
        "BMP",
        (".bmp", ".dib"),
        "Bitmaps of Windows, with or without the header of a file.",
        heads=(b"BM",),
        readers=("BMP", "DIB"),
    ),
    ImageFormat(
        "AVIF",
        (".avif",),
        "The first frame, on white.",
        decoder="isolated",
        brands=(b"avif", b"avis"),
        readers=("AVIF",),
    ),
    ImageFormat(
        "HEIC",
        (".heic", ".heif"),
        "The main picture of a file from a telephone.",
        decoder="heif",
        brands=(b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"),
    ),
    ImageFormat(
        "JPEG 2000",
        (".jp2", ".j2k"),
        "A very large one at a half, a quarter, ... of its sides.",
        decoder="isolated",
        heads=(b"\x00\x00\x00\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"),
        readers=("JPEG2000",),
    ),
    SVG,
)
"""The formats that are decoded; AVIF stands before HEIC, since its files may name brands of both."""

READERS = tuple(reader for row in IMAGE_FORMATS for reader in row.readers)  # the readers that Pillow may try


def image_format(head: bytes) -> ImageFormat | None:
    """Return the format of a file by its first bytes; None if it is no picture of these formats."""
    if _is_svg(head):
        return SVG
    if not _is_iso_media(head):
        return next((row for row in IMAGE_FORMATS if head.startswith(row.heads)), None)
    brands = {head[8:12], *(head[at : at + 4] for at in range(16, min(int.from_bytes(head[:4]), 256), 4))}
    return next((row for row in IMAGE_FORMATS if brands.intersection(row.brands)), None)


def decoder_of(head: bytes) -> Decoder:
    """Return the way to decode a file that begins so; for one that is no picture, the way to find that out."""
    row = image_format(head)
    if row is not None:
        return row.decoder
    # Whatever else a file of ISO media is: Pillow would take it for AVIF, whose memory no header shows.
    return "isolated" if _is_iso_media(head) else "plain"


def _is_iso_media(head: bytes) -> bool:
    return head[4:8] == b"ftyp"


def _raw_format(head: bytes, file: Path | bytes) -> str | None:
    """Return the format of a raw camera file, by its suffix; None for anything else.

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


def _not_an_image(head: bytes) -> str:
    """Return the message for a file that is not an image: its actual kind, and a remedy."""
    text = _text(head)
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page where a picture should be: open its address and save the picture itself"
    if text.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer instead of the picture: run 'git lfs pull'"
    if head.startswith(b"%PDF"):
        return "a PDF where a picture should be: convert the page to PNG"
    return f"not a picture, or damaged: iconotext reads {listed(row.name for row in IMAGE_FORMATS)}"


def _is_svg(head: bytes) -> bool:
    text = _text(head)
    return text.startswith(b"<") and b"<svg" in text and not text.startswith((b"<!doctype html", b"<html"))


def _text(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()


MAX_BYTES = 512 * 2**20  # maximum size of a file. The largest useful ones are bitmaps: 100 megapixels are 300 MB.

MAX_READS = 100_000
"""Maximum number of reads of a file, plus one for every 64 bytes; endless tiny parts would need more."""

_SUBFILE, _INNER, _DNG = 254, 330, 50706  # TIFF tags that only raw camera files use in this way


def image_decoder(file: Path | bytes) -> Decoder:
    """Return the way to decode a file."""
    with _image_errors(), _stream(file) as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        head = stream.read(HEAD)
    if size > MAX_BYTES:
        raise ImageError(f"{size / 2**20:,.0f} MiB are more than {MAX_BYTES / 2**20:.0f}: scale it down")
    if not head:
        raise ImageError(f"empty: the {'image' if isinstance(file, bytes) else 'file'} has 0 bytes")
    if raw := _raw_format(head, file):
        raise ImageError(_raw(raw))
    return decoder_of(head)


def image_size(file: Path | bytes, decoder: Decoder, max_pixels: int) -> tuple[int, int]:
    """Return width and height, from the header alone."""
    with _image_errors():
        if decoder == "svg":
            from iconotext.images.svg import svg_size

            return svg_size(_contents(file))
        if decoder == "heif":
            size = heif_size(file)
            _check_size(size, max_pixels)
            return size
        with _open_image(file, max_pixels) as image:
            return image.size


def decode_image(file: Path | bytes, decoder: Decoder, at_least: int | None, max_pixels: int) -> Pillow.Image:
    """Decode an image to RGB; see ``images.decode``."""
    with _image_errors():
        if decoder == "svg":
            from iconotext.images.svg import render_svg

            return render_svg(_contents(file))
        if decoder == "heif":
            _check_size(heif_size(file), max_pixels)
            return decode_heif(file, at_least)
        with _open_image(file, max_pixels) as image:
            if isinstance(image, JpegImageFile) and image.fp is not None:
                check_scans(image.fp, image.layers, progressive="progressive" in image.info)
            return upright_rgb(image, at_least, encoded_size(file))


def decode_pages(file: Path | bytes, decoder: Decoder, count: int, max_pixels: int) -> list[bytes | None]:
    """Return the first pages of a TIFF as PNG; see ``images.tiff_pages``."""
    pages = list[bytes | None]()
    with _image_errors(), _open_image(file, max_pixels) as image:
        count = min(count, getattr(image, "n_frames", 1))
    for number in range(count):
        page = io.BytesIO()
        # Opened anew for each page, since ``upright_rgb`` closes the image.
        with suppress(ImageError), _image_errors(), _open_image(file, max_pixels) as image:
            image.seek(number)
            _check_size(image.size, max_pixels)
            upright_rgb(image, None, encoded_size(file)).save(page, "PNG", compress_level=1)
        pages.append(page.getvalue() or None)
    return pages


def decode_pixels(
    file: Path | bytes, decoder: Decoder, at_least: int | None, max_pixels: int
) -> tuple[tuple[int, int], bytes]:
    """Return the result of ``decode_image`` as size and bytes, 3 per pixel, to send it to another process."""
    image = decode_image(file, decoder, at_least, max_pixels)
    return image.size, image.tobytes()


def drawing_time(file: Path | bytes, decoder: Decoder) -> tuple[float, str | None]:
    """Return the processor seconds that it takes to decode an image, and the reason if it cannot be decoded."""
    begin, problem = time.process_time(), None
    try:
        decode_image(file, decoder, None, 0)  # a drawing is not limited in its pixels
    except ImageError as error:
        problem = str(error)
    return time.process_time() - begin, problem


@contextmanager
def _open_image(file: Path | bytes, max_pixels: int) -> Iterator[ImageFile]:
    """Open an image, read its header and check its size; broken pixels show only in decoding."""
    with pillow_silenced(), _stream(file) as stream:
        head = stream.read(HEAD)
        stream.seek(0)
        try:
            image = Pillow.open(stream, formats=READERS)
        except UnidentifiedImageError as error:
            raise ImageError(_not_an_image(head)) from error
        if image.format in ("BMP", "DIB"):  # Pillow reads their runs one by one, as many as there are pixels
            stream.left = math.inf
        with image:
            tags: Any = getattr(image, "tag_v2", {})
            if _DNG in tags or (_INNER in tags and tags.get(_SUBFILE) == 1):
                raise ImageError(_raw("DNG" if _DNG in tags else "NEF, ARW or the like"))
            _check_size(image.size, max_pixels)
            yield image


class _Stream(io.BufferedReader):
    left: float  # number of reads that are still allowed

    def read(self, size: int | None = -1, /) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise ImageError("of more and smaller parts than any program makes: save it again")
        return super().read(size)


@contextmanager
def _stream(file: Path | bytes) -> Iterator[_Stream]:
    try:
        raw: Any = io.BytesIO(file) if isinstance(file, bytes) else file.open("rb", buffering=0)
        stream = _Stream(raw)
        stream.left = MAX_READS + stream.seek(0, io.SEEK_END) / 64
        stream.seek(0)
    except ValueError as error:  # a NUL in the path
        raise ImageError(f"cannot be read: {one_line(error)}") from error
    with stream:
        yield stream


def encoded_size(file: Path | bytes) -> int:
    """Return the size of an encoded image in bytes."""
    return len(file) if isinstance(file, bytes) else file.stat().st_size


def _contents(file: Path | bytes) -> bytes:
    from iconotext.images.svg import MAX_BYTES

    with _stream(file) as stream:
        return stream.read(MAX_BYTES + 1)


@contextmanager
def _image_errors() -> Iterator[None]:
    """Turn any error into ``ImageError``, without the file's name, which the caller knows."""
    try:
        yield
    except (ImageError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise ImageError("file not found") from error
    except Pillow.DecompressionBombError as error:
        raise ImageError("too many pixels to decode: scale it down") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise ImageError(f"cannot be read: {error.strerror or one_line(error)}") from error
        raise ImageError("cut off or damaged: save or download it again") from error


def _check_size(size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise ImageError(f"{width} × {height} are more than {max_pixels:,} pixels: scale it down")
    if width < 1 or height < 1:
        raise ImageError(f"damaged: a size of {width} × {height}")


def _raw(kind: str) -> str:
    return f"a camera's raw file ({kind}), which iconotext does not develop: export it as JPEG"


_silence = threading.Lock()
_silent_threads = 0
_filters_before: warnings.catch_warnings[None] | None = None


@contextmanager
def pillow_silenced() -> Iterator[None]:
    """Suppress Pillow's warnings while the block runs.

    ``warnings.catch_warnings`` changes the filters of the whole process, and images are decoded on several threads: the
    first thread sets the filter, the last one removes it.
    """
    global _silent_threads, _filters_before
    with _silence:
        if _silent_threads == 0:
            _filters_before = warnings.catch_warnings()
            _filters_before.__enter__()
            warnings.filterwarnings("ignore", module=r"PIL\.")
        _silent_threads += 1
    try:
        yield
    finally:
        with _silence:
            _silent_threads -= 1
            if _silent_threads == 0 and _filters_before is not None:
                _filters_before.__exit__(None, None, None)
                _filters_before = None
