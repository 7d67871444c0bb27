"""The conversion of an opened image to RGB, with a limit on memory that does not trust the header."""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import Image as Pillow
from PIL.ImageFile import ImageFile

from iconotext.errors import ImageError


def heif_size(file: Path | bytes) -> tuple[int, int]:
    """Return width and height; damaged files raise nearly any ``Exception``."""
    import pi_heif

    width, height = pi_heif.open_heif(file).size
    return width, height


def decode_heif(file: Path | bytes, at_least: int | None) -> Pillow.Image:
    """Decode a HEIF file to RGB, upright, on white, at most ``MAX_RESULT`` pixels.

    Args:
        file: Its size has been checked.
        at_least: As for ``decode``.

    Raises:
        ImageError: It takes more memory than is allowed.
        Exception: Nearly any, on damaged files.
    """
    import pi_heif

    image = pi_heif.open_heif(file)
    size = image.size
    by = shrink_by(size, size, at_least)
    with within_memory(size[0] * size[1] * _PER_PIXEL["HEIF"] + size[0] * size[1] * 4 // by**2, size):
        pixels = np.asarray(image)  # saves the copy that Pillow would make
        shape = (pixels.shape[1], pixels.shape[0])
        return rows_to_rgb(lambda top, end: Pillow.fromarray(pixels[top:end]), shape, by)


MAX_SCANS = 100  # maximum number of scans; encoders make about a dozen

MAX_PARTS = 10_000
"""Maximum number of scans, tables and other segments; photographs with much metadata have some hundreds."""

_CHUNK = 2**14
# A marker, the length of its part, and of a scan the number of components. Not markers: ff00 (a 255 in the data of a
# scan), ffd0 to ffd7 (restarts there), ffff (padding).
_MARKER = re.compile(rb"\xff([^\x00\xd0-\xd7\xff])(..)(.)", re.DOTALL)
_MARKER_BYTES = 5
_FIRST_WITH_LENGTH, _END, _SCAN = 0xC0, 0xD9, 0xDA


def check_scans(stream: IO[bytes], components: int, *, progressive: bool) -> None:
    """Refuse a JPEG with too many scans, since each goes over all pixels. Only its markers are read.

    Args:
        stream: The file, from its beginning; its position afterwards is undefined.
        components: Of the frame: 1 for grey, 3 for colours.
        progressive: If False, a first scan of all components is the only one, and the file is read no further.
    """
    scans = 0
    for number, (kind, components_in_it) in enumerate(_parts(stream)):
        if number >= MAX_PARTS:
            raise ImageError(f"a JPEG of more than {MAX_PARTS:,} parts, which no program makes: save it again")
        scans += kind == _SCAN
        if scans > MAX_SCANS:
            raise ImageError(f"a JPEG of more than {MAX_SCANS} scans, which no program makes: save it again")
        if kind == _END or (kind == _SCAN and not progressive and components_in_it == components):
            return


def _parts(stream: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the kind of each part of a JPEG, and its number of components if it is a scan."""
    at, chunk, start = 2, b"", 0
    while True:
        if not start <= at <= start + len(chunk) - _MARKER_BYTES:
            stream.seek(at)
            chunk, start = stream.read(_CHUNK), at
            if len(chunk) < _MARKER_BYTES:
                return  # its end
        marker = _MARKER.search(chunk, at - start)
        if marker is None:
            at = start + len(chunk) - _MARKER_BYTES + 1  # the end of the chunk may cut a marker
            continue
        kind = marker[1][0]
        yield kind, marker[3][0]
        length = int.from_bytes(marker[2]) if kind >= _FIRST_WITH_LENGTH else 0
        at = start + marker.start() + 2 + length


MAX_DECODED = 576 * 2**20  # bytes of memory for images that are being decoded in this process, by all threads together

MAX_RESULT = 25_000_000
"""Larger images are returned at a half, a third, ... of their sides: 25 megapixels are 100 MB in memory."""

BAND = 2**20  # pixels that are converted at a time

# Peak bytes per pixel for decoding, measured; for other formats it is the size of the image itself.
_PER_PIXEL = {"WEBP": 16, "AVIF": 12, "JPEG2000": 20, "HEIF": 5}
_ORIENTATION = 0x0112  # EXIF tags
_ROWS_PER_STRIP, _TILE_WIDTH, _TILE_HEIGHT, _BITS, _SAMPLES = 278, 322, 323, 258, 277
_TURNS = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}

Rows = Callable[[int, int], Pillow.Image]  # returns the rows of an image from one number up to another


def upright_rgb(image: ImageFile, at_least: int | None, encoded_size: int) -> Pillow.Image:
    """Decode an opened image to RGB, upright, on white, at most ``MAX_RESULT`` pixels."""
    full = size = image.size
    needed = full[0] * full[1] * _PER_PIXEL.get(image.format or "", _bytes_per_pixel(image.mode))
    if image.format in ("JPEG", "MPO"):  # MPO: several JPEGs in one file, from cameras and telephones
        needed = _shrink_jpeg(image, at_least)
        size = image.size
    elif image.format == "JPEG2000":
        needed, size = _shrink_jpeg2000(image, needed)
    elif image.format == "TIFF":
        needed += _strip_bytes(image)
    elif image.format == "WEBP":
        needed += encoded_size
    # Besides the decoded image there is the result, for which Pillow takes 4 bytes a pixel.
    by = shrink_by(full, size, at_least)
    with within_memory(needed + size[0] * size[1] * 4 // by**2, full):
        image.load()
        width = image.width
        turn = _TURNS.get(_orientation(image))
        rgb = rows_to_rgb(lambda top, end: image.crop((0, top, width, end)), image.size, by)
        image.close()  # free the pixels before the next copy
        return rgb if turn is None else rgb.transpose(turn)


def shrink_by(full: tuple[int, int], size: tuple[int, int], at_least: int | None) -> int:
    """Return the integer by which to divide the sides of an image of ``full`` size, decoded as ``size``.

    It is 1 unless the image is very large; with ``at_least``, the shorter side of such a one stays that long.
    """
    needed = math.ceil(math.sqrt(size[0] * size[1] / MAX_RESULT))
    if at_least is not None and full[0] * full[1] > MAX_RESULT:
        return max(needed, min(size) // at_least, 1)
    return max(needed, 1)


def rows_to_rgb(rows: Rows, size: tuple[int, int], by: int) -> Pillow.Image:
    """Convert an image some rows at a time: transparency becomes white, 16-bit grey is scaled to 8 bits."""
    width, height = size
    step = max(BAND // width // by, 1) * by
    bands = [(top, min(top + step, height)) for top in range(0, height, step)]
    mode = rows(0, 1).mode  # of any row
    scale = _grey_to_8_bits(rows, bands) if mode.startswith("I") or mode == "F" else None

    def converted(top: int, end: int) -> Pillow.Image:
        band = _rgb(rows(top, end)) if scale is None else scale(np.asarray(rows(top, end))).convert("RGB")
        return band if by == 1 else band.reduce(by)

    if len(bands) == 1:
        return converted(*bands[0])
    result = Pillow.new("RGB", (math.ceil(width / by), math.ceil(height / by)))
    for top, end in bands:
        result.paste(converted(top, end), (0, top // by))
    return result


def _rgb(image: Pillow.Image) -> Pillow.Image:
    if image.has_transparency_data:
        return on_white(image.convert("RGBA"))
    return image if image.mode == "RGB" else image.convert("RGB")


def on_white(rgba: Pillow.Image) -> Pillow.Image:
    """Return an image of mode RGBA on white, as RGB."""
    return Pillow.alpha_composite(Pillow.new("RGBA", rgba.size, "white"), rgba).convert("RGB")


def _grey_to_8_bits(rows: Rows, bands: list[tuple[int, int]]) -> Callable[[np.ndarray[Any, Any]], Pillow.Image]:
    """Return the conversion of grey with 16 or 32 bits, or floating point, to 8 bits.

    Pillow's own conversion clips at 255, which makes a 16-bit scan white. The white point is that of the smallest
    usual range the values fit (1 for floating point, 255, 65,535); values outside all of them are stretched.
    """
    ends = [(float(v.min()), float(v.max())) for v in (_finite(np.asarray(rows(*band))) for band in bands)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    kind = np.asarray(rows(0, 1)).dtype
    if kind == np.uint16:
        whites = [65_535.0]  # from the file's header: a dark 16-bit image stays dark
    elif np.issubdtype(kind, np.floating):
        whites = [1.0, 255.0, 65_535.0]
    else:
        whites = [255.0, 65_535.0]
    fitting = [white for white in whites if low >= 0 and high <= white]
    black, white = (0.0, fitting[0]) if fitting else (low, high)
    span = white - black

    def scaled(values: np.ndarray[Any, Any]) -> Pillow.Image:
        wide = _finite(values)
        # A span overflows for values near the limit of floating point: the image is black then, without a crash.
        grey = (wide - black) / span * 255 if 0 < span < math.inf else np.zeros_like(wide)
        return Pillow.fromarray(np.rint(grey).astype(np.uint8))

    return scaled


def _finite(values: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    wide = values.astype(np.float64)
    wide[~np.isfinite(wide)] = 0.0
    return wide


def _bytes_per_pixel(mode: str) -> int:
    """Return the size of a pixel in Pillow's memory."""
    return 1 if mode in ("1", "L", "P") else 2 if mode.startswith("I;16") else 4


def _shrink_jpeg(image: ImageFile, at_least: int | None) -> int:
    """Choose 1/2, 1/4 or 1/8 of the size if that is enough; return the bytes that decoding then takes."""
    width, height = image.size
    needed = 0
    if image.info.get("progressive"):  # all coefficients are in memory, 2 bytes each
        layers: list[tuple[int, int]] = [(across, down) for _, across, down, *_ in getattr(image, "layer", [])]
        largest = max((across * down for across, down in layers), default=1)
        needed = 2 * width * height * sum(across * down for across, down in layers) // max(largest, 1)
    by = math.ceil(math.sqrt(width * height / MAX_RESULT))
    if at_least is not None or by > 1:
        sides = (math.ceil(width / by), math.ceil(height / by))
        image.draft(None, sides if at_least is None else (min(at_least, sides[0]), min(at_least, sides[1])))
    pixels: int = image.size[0] * image.size[1]  # in decoded size
    return needed + pixels * _bytes_per_pixel(image.mode)


def _shrink_jpeg2000(image: ImageFile, needed: int) -> tuple[int, tuple[int, int]]:
    """Choose 1/2, 1/4, ... of the size if it is very large; return the bytes that decoding takes, and the size."""
    halved = 0
    while needed >> (2 * halved) > MAX_DECODED // 2:
        halved += 1
    if halved:
        image.reduce = halved  # type: ignore[method-assign, assignment]  # the name that Pillow gives it
    width, height = (max((side + (1 << halved >> 1)) >> halved, 1) for side in image.size)  # rounded, as Pillow does
    return needed >> (2 * halved), (width, height)


def _strip_bytes(image: ImageFile) -> int:
    """Return the bytes of a TIFF strip, unpacked at a time, as the file declares them: it may be the whole image."""
    tags: Any = getattr(image, "tag_v2", {})
    width, height = image.size
    bits = tags.get(_BITS, (1,))
    pixel = max(bits if isinstance(bits, tuple) else (bits,)) * int(tags.get(_SAMPLES, 1)) / 8
    strip = width * min(int(tags.get(_ROWS_PER_STRIP, height)), height)
    tile = int(tags.get(_TILE_WIDTH, 0)) * int(tags.get(_TILE_HEIGHT, 0))
    return int(max(strip, tile) * pixel)


def _orientation(image: ImageFile) -> int:
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # garbage in the EXIF block loses the rotation, not the pixels
        return 1
    return value if isinstance(value, int) else 1


_free = MAX_DECODED
_freed = threading.Condition()


@contextmanager
def within_memory(needed: int, size: tuple[int, int]) -> Iterator[None]:
    """Reserve ``needed`` bytes of ``MAX_DECODED`` for the block, when they are free; ``size`` is for the error."""
    global _free
    if needed > MAX_DECODED:
        raise ImageError(
            f"{size[0]} × {size[1]} pixels take {needed / 2**20:,.0f} MiB to decode,"
            f" more than {MAX_DECODED / 2**20:,.0f}: scale it down, or save it as JPEG"
        )
    with _freed:
        _freed.wait_for(lambda: _free >= needed)
        _free -= needed
    try:
        yield
    finally:
        with _freed:
            _free += needed
            _freed.notify_all()


def _reset_after_fork() -> None:
    """Free the reserved memory in a forked process: the threads that held it do not exist there."""
    global _free, _freed
    _free, _freed = MAX_DECODED, threading.Condition()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_reset_after_fork)
