"""Encoded pictures: turn them into pixels, and say which of a document's images take no part in linking."""

from __future__ import annotations

import hashlib
import io
import math
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import UnidentifiedImageError
from PIL.ImageFile import ImageFile

from iconotext.errors import PictureError
from iconotext.types import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "DIB", "AVIF", "JPEG2000")
"""What Pillow may try. Naming them keeps its readers that run other programs (EPS) away from strange files."""

MAX_PIXELS = 100_000_000
"""Pictures with more pixels are refused: 100 megapixels are 300 MB in memory."""

MIN_SIDE = 64
"""Pictures with a shorter side, in pixels, are icons, bullets and spacers."""

_ICON, _REPEAT = "smaller than", "the same picture as"
_ORIENTATION = 0x0112  # EXIF tag
_TURNS = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}


def decode(file: Path | bytes, *, at_least: int | None = None, max_pixels: int = MAX_PIXELS) -> Pillow.Image:
    """Decode a picture to RGB: its first frame, upright, on white.

    Args:
        file: The encoded picture, or where it is.
        at_least: Length in pixels that the shorter side must keep. A JPEG is then decoded at 1/2, 1/4 or 1/8 of its
            size where that still leaves so much, which is several times as quick; other formats are not affected.
        max_pixels: Width times height that is still decoded; read from the header before anything is unpacked.

    Returns:
        Mode RGB. 16-bit grey is scaled to 8 bits, EXIF rotation applied where it can be read.

    Raises:
        PictureError: No such file, not a picture, damaged, or too large. For bytes the message names no place.
    """
    try:
        with pillow_silenced(), _opened(file, max_pixels) as picture:
            return _upright_rgb(picture, at_least)
    except PictureError as error:
        if isinstance(file, bytes):
            raise
        raise PictureError(f"{file}: {error}") from error


def inspect(images: Sequence[Image], *, min_side: int = MIN_SIDE, max_pixels: int = MAX_PIXELS) -> tuple[Image, ...]:
    """Say which images take no part, from their headers alone.

    Args:
        images: The images of one document. A ``problem`` that is already there stays.
        min_side: Length in pixels below which a picture is an icon or a spacer.
        max_pixels: As for ``decode``.

    Returns:
        The same images in the same order, with ``problem`` set where there is none to be linked: the file is missing
        or no picture, the picture is too small, or it has the same bytes as an earlier one.
    """
    problems = [image.problem or _header_problem(image.file, min_side, max_pixels) for image in images]
    files = {i: image.file for i, image in enumerate(images) if problems[i] is None and image.file is not None}
    for repeat, first in _repeats(files).items():
        problems[repeat] = f"{_REPEAT} image {first}"
    return tuple(
        image if image.problem == problem else replace(image, problem=problem)
        for image, problem in zip(images, problems, strict=True)
    )


def is_usual(problem: str) -> bool:
    """Whether a ``problem`` is nothing that anybody would mend: an icon, or a repeat."""
    return problem.startswith((_ICON, _REPEAT))


def _header_problem(file: Path | bytes | None, min_side: int, max_pixels: int) -> str | None:
    if file is None:
        return "file not found"
    try:
        with pillow_silenced(), _opened(file, max_pixels) as picture:
            width, height = picture.size
    except PictureError as error:
        return str(error)
    if min(width, height) < min_side:
        return f"{_ICON} {min_side} px ({width} × {height}): an icon or a spacer"
    return None


def _repeats(files: dict[int, Path | bytes]) -> dict[int, int]:
    """The number of every file that repeats an earlier one, with the number of that one."""
    sizes = {i: len(file) if isinstance(file, bytes) else file.stat().st_size for i, file in files.items()}
    shared = Counter(sizes.values())
    first: dict[bytes, int] = {}
    repeats = {}
    for i, file in files.items():
        if shared[sizes[i]] > 1:  # a size that no other has needs no reading
            earlier = first.setdefault(_digest(file), i)
            if earlier != i:
                repeats[i] = earlier
    return repeats


def _digest(file: Path | bytes) -> bytes:
    if isinstance(file, bytes):
        return hashlib.sha256(file).digest()
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


@contextmanager
def _opened(file: Path | bytes, max_pixels: int) -> Iterator[ImageFile]:
    """The picture with its header read and its size checked.

    Raises:
        PictureError: Without the place, which the caller knows. Also for errors in the body of the ``with``: Pillow
            meets broken pixels only when they are used, and raises nearly everything on broken files.
    """
    if file == b"":
        raise PictureError("empty: the picture has 0 bytes")
    try:
        with io.BytesIO(file) if isinstance(file, bytes) else file.open("rb") as stream:
            head = stream.read(1024)
            if not head:
                raise PictureError("empty: the file has 0 bytes")
            stream.seek(0)
            try:
                with Pillow.open(stream, formats=FORMATS) as picture:
                    _check_size(picture.size, max_pixels)
                    yield picture
            except PictureError:
                raise
            except UnidentifiedImageError as error:
                raise PictureError(_foreign(head)) from error
            except Pillow.DecompressionBombError as error:
                raise PictureError("too many pixels to decode: scale it down") from error
            except Exception as error:
                raise PictureError(f"cut off or damaged ({_one_line(error)}): save or download it again") from error
    except FileNotFoundError as error:
        raise PictureError("file not found") from error
    except OSError as error:
        raise PictureError(f"cannot be read: {error.strerror or _one_line(error)}") from error
    except ValueError as error:  # a NUL in the path
        raise PictureError(f"cannot be read: {_one_line(error)}") from error


def _check_size(size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise PictureError(f"{width} × {height} are more than {max_pixels:,} pixels: scale it down")
    if width < 1 or height < 1:
        raise PictureError(f"damaged: a size of {width} × {height}")


def _foreign(head: bytes) -> str:
    """What a file that is no raster picture is, from its first bytes, and what to do."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text.startswith(b"<") and b"<svg" in text:
        return "SVG drawing; iconotext links photographs and other raster pictures: convert it to PNG"
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page where a picture should be: open its address and save the picture itself"
    if text.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer instead of the picture: run 'git lfs pull'"
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"hevc", b"mif1", b"msf1"):
        return "HEIC photograph, which iconotext cannot decode: convert it to JPEG"
    if head.startswith(b"%PDF"):
        return "a PDF where a picture should be: convert the page to PNG"
    return "not a picture, or damaged: iconotext reads JPEG, PNG, WebP, GIF, TIFF, BMP, AVIF and JPEG 2000"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _upright_rgb(picture: ImageFile, at_least: int | None) -> Pillow.Image:
    if at_least is not None:
        picture.draft(None, (at_least, at_least))  # only JPEG takes notice
    picture.load()
    turn = _TURNS.get(_orientation(picture))
    rgb = _rgb(picture)
    return rgb if turn is None else rgb.transpose(turn)


def _orientation(picture: ImageFile) -> int:
    try:
        value = picture.getexif().get(_ORIENTATION, 1)
    except Exception:  # garbage in the EXIF block costs the rotation, not the pixels
        return 1
    return value if isinstance(value, int) else 1


def _rgb(picture: Pillow.Image) -> Pillow.Image:
    if picture.mode.startswith("I") or picture.mode == "F":
        return _grey_of_wide(np.asarray(picture)).convert("RGB")
    if picture.has_transparency_data:
        rgba = picture.convert("RGBA")
        white = Pillow.new("RGBA", rgba.size, "white")
        return Pillow.alpha_composite(white, rgba).convert("RGB")
    return picture.convert("RGB")


def _grey_of_wide(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Pillow.Image:
    """Grey of 16 or 32 bits, or of floating point, as 8 bits.

    Pillow's own conversion clips at 255, which makes a 16-bit scan white. The white point is that of the smallest
    usual range the values fit (1 for floating point, 255, 65,535); values outside all of them are stretched.
    """
    wide = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(wide.min()), float(wide.max())
    if values.dtype == np.uint16:
        whites = [65_535.0]  # the file says so: a dark 16-bit picture stays dark
    elif np.issubdtype(values.dtype, np.floating):
        whites = [1.0, 255.0, 65_535.0]
    else:
        whites = [255.0, 65_535.0]
    fitting = [white for white in whites if low >= 0 and high <= white]
    black, white = (0.0, fitting[0]) if fitting else (low, high)
    span = white - black
    # A span that overflows comes of values near the limit of floating point: no picture, but no crash either.
    scaled = (wide - black) / span * 255 if 0 < span < math.inf else np.zeros_like(wide)
    return Pillow.fromarray(np.rint(scaled).astype(np.uint8), mode=None)


_silence = threading.Lock()
_silent_threads = 0
_loud: warnings.catch_warnings[None] | None = None


@contextmanager
def pillow_silenced() -> Iterator[None]:
    """No warnings from Pillow: what matters in them becomes a ``PictureError``.

    ``warnings.catch_warnings`` changes the filters of the whole process, and pictures are decoded on several threads:
    the first thread to come in puts the filter there, the last one to leave takes it away.
    """
    global _silent_threads, _loud
    with _silence:
        if _silent_threads == 0:
            _loud = warnings.catch_warnings()
            _loud.__enter__()
            warnings.filterwarnings("ignore", module=r"PIL\.")
        _silent_threads += 1
    try:
        yield
    finally:
        with _silence:
            _silent_threads -= 1
            if _silent_threads == 0 and _loud is not None:
                _loud.__exit__(None, None, None)
                _loud = None
