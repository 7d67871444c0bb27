"""Images: decoding to pixels, and the images of a document that are not to be linked."""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from PIL import Image as Pillow

from iconotext.errors import ImageError
from iconotext.images.file import (
    Decoder,
    decode_image,
    decode_pages,
    decode_pixels,
    drawing_time,
    encoded_size,
    image_decoder,
    image_size,
)
from iconotext.system.files import content_digest
from iconotext.system.worker import LimitError, run_isolated
from iconotext.types import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_PIXELS = 100_000_000  # images with more pixels are refused
MIN_SIDE = 64  # images with a shorter side than this, in pixels, count as icons, bullets and spacers
MAX_ISOLATED_MEMORY = 768 * 2**20  # bytes of memory that the worker process may take for decoding an image

MAX_SECONDS, SVG_SECONDS = 120.0, 10.0
"""Time limits, in seconds, for decoding an image, and an SVG, in the worker process."""

ALL_SECONDS, BYTES_A_SECOND = 10.0, 100_000
"""Seconds of the processor for all drawings (SVG) of a document: at least ``ALL_SECONDS``, and by their bytes."""

ALL_PIXELS, PIXELS_A_BYTE = 1_000_000_000, 200
"""Pixels of all pictures of a document: ``ALL_PIXELS`` + ``PIXELS_A_BYTE`` for each byte of their files.

Photographs have up to 20 pixels a byte, drawings up to 200, and a picture that was made to take long has a thousand."""

SLOW, SLOW_PIXELS = 3, 5_000_000
"""Weight of a pixel of a slow format (TIFF, AVIF, HEIC, JPEG 2000), and smallest number of pixels that such a picture
counts as, since its header may understate them."""

SMALL = 8
"""Up to this multiple of ``MIN_SIDE``, or of the side that the user chose, a picture with the name of an icon or a logo
is one, and a picture that looks like another one of its name is its thumbnail."""

POINTS, APART = 16, 0.3
"""Two pictures look the same if the colours of 16 by 16 areas differ by at most this share of their standard deviation
within the picture. Of 80 thumbnails all differed by less; of 245,000 pairs of different drawings, not chosen by their
names, none by less than 0.43."""

_ICON, _NAMED, _COPY, _REPEAT, _ORNAMENT = (
    "smaller than",
    "named as an icon or a logo",
    "a copy of a picture that is there as large or larger",
    "the same picture as",
    "the same small picture on",  # of a PDF, whose reader writes it without this module: numpy takes memory
)

_ICON_NAME = re.compile(
    r"(?:^|[-_. ])(?:favicon|apple-touch-icon|android-chrome|mstile|icons?|logos?|sprites?)(?:[-_. @\d]|$)",
    re.IGNORECASE,
)
_OF_SIZE = re.compile(
    r"(?:^|[-_. ])(?:\d{2,4}x\d{2,4}|\d{2,4}(?:w|px)|thumb(?:nail)?s?|tn|mini|small|medium|large|full|scaled|preview)"
    r"(?=[-_. @]|$)|@[123]x",
    re.IGNORECASE,
)
"""Parts of file names that name the size of a picture."""

Result = TypeVar("Result")


def decode(file: Path | bytes, *, at_least: int | None = None, max_pixels: int = MAX_PIXELS) -> Pillow.Image:
    """Decode an image to RGB: its first frame, upright, on white.

    Decoding takes at most ``raster.MAX_DECODED`` bytes for the images of all threads together. If the header of a
    format does not show its memory, the image is decoded in the worker process, one at a time, with
    ``MAX_ISOLATED_MEMORY``.

    Args:
        at_least: Minimum length of the shorter side in pixels. A JPEG is then decoded at 1/2, 1/4 or 1/8 of its size if
            that leaves this length, which is several times as fast; so is an image of more than ``raster.MAX_RESULT``
            pixels.
        max_pixels: Maximum width times height; read from the header before anything is unpacked.

    Returns:
        Mode RGB, at most ``raster.MAX_RESULT`` pixels: larger images are reduced by an integer factor. 16-bit grey is
        scaled to 8 bits, EXIF rotation is applied, an SVG is drawn with ``svg.LONGER_SIDE`` pixels.

    Raises:
        ImageError: No such file, not an image, damaged, or too large. For bytes the message has no file name.
    """
    try:
        decoder = image_decoder(file)
        if decoder == "plain":
            return decode_image(file, decoder, at_least, max_pixels)
        size, pixels = _bounded(decoder, decode_pixels, file, at_least, max_pixels)
        return Pillow.frombytes("RGB", size, pixels)
    except ImageError as error:
        if isinstance(file, bytes):
            raise
        raise ImageError(f"{file}: {error}") from error


def tiff_pages(data: bytes, count: int) -> list[bytes | None]:
    """Return the first pages of a TIFF, each as a PNG, with the limits of ``decode`` for all of them together.

    Returns:
        At most ``count``; None for a page that cannot be decoded.

    Raises:
        ImageError: It is no picture, or its pages together take too much memory or time.
    """
    return _bounded(image_decoder(data), decode_pages, data, count, MAX_PIXELS)


def inspect(images: Sequence[Image], *, min_side: int = MIN_SIDE, max_pixels: int = MAX_PIXELS) -> tuple[Image, ...]:
    """Set the problem of images that are not to be linked, by their headers and names.

    If there are several drawings, each is drawn once, since only drawing shows how long it takes.

    Args:
        images: The images of one document. An existing ``problem`` stays.
        min_side: Images with a shorter side, in pixels, are icons or spacers.
        max_pixels: As for ``decode``.

    Returns:
        The same images in order, with a ``problem`` if the file is missing or not an image, the image is too small, it
        is an icon by its name or a repeat (the same bytes as an earlier one, or a thumbnail of another one), or the
        document's images together would take too long to decode.
    """
    # A document may name one large file a thousand times: under its first name, each file is read once.
    first_names: dict[Hashable, Path | bytes | None] = {}
    files_of = [first_names.setdefault(_identity(image.file), image.file) for image in images]
    header = functools.cache(functools.partial(_header, max_pixels=max_pixels))
    problems = [
        image.problem or header(file).problem or _icon_problem(image.source, header(file).size, min_side)
        for image, file in zip(images, files_of, strict=True)
    ]
    files = {i: file for i, file in enumerate(files_of) if problems[i] is None and file is not None}
    for repeat, first in _repeats(files).items():
        source = images[first].source
        problems[repeat] = f"{_REPEAT} {'an earlier picture' if source.startswith('data:') else source}"
        del files[repeat]
    drawings = {i: file for i, file in files.items() if header(file).decoder == "svg"}
    raster = {i: (file, header(file)) for i, file in files.items() if i not in drawings}
    for i, problem in (*_beyond_pixels(raster), *(_beyond_seconds(drawings) if len(drawings) > 1 else ())):
        problems[i] = problem
    readable = [i for i in files if problems[i] is None]
    named_files = [(images[i].source, files[i]) for i in readable]
    for copy, other in copies(named_files, lambda file: header(file).size, min_side=min_side).items():
        problems[readable[copy]] = copy_problem(named_files[other][0])
    return tuple(
        image if image.problem == problem else replace(image, problem=problem)
        for image, problem in zip(images, problems, strict=True)
    )


def _beyond_pixels(files: Mapping[int, tuple[Path | bytes, _Header]]) -> Iterator[tuple[int, str]]:
    """Yield the images beyond a document's limit on pixels, and the reason."""
    total, allowed = 0, ALL_PIXELS
    for i, (file, header) in files.items():
        allowed += PIXELS_A_BYTE * encoded_size(file)
        width, height = header.size or (0, 0)
        pixels = width * height
        cost = pixels if header.decoder == "plain" else SLOW * max(pixels, SLOW_PIXELS)
        if total + cost > allowed:
            yield i, "not decoded: the pictures of the document have too many pixels together: scale them down"
        else:
            total += cost


def _beyond_seconds(drawings: Mapping[int, Path | bytes]) -> Iterator[tuple[int, str]]:
    """Yield the drawings that cannot be drawn, or not in the time for all drawings of a document, and the reason.

    The time that a drawing takes is known only after drawing it.
    """
    total, allowed = 0.0, max(ALL_SECONDS, sum(map(encoded_size, drawings.values())) / BYTES_A_SECOND)
    for i, file in drawings.items():
        problem = None
        if total < allowed:
            try:
                seconds, problem = _bounded("svg", drawing_time, file)
            except ImageError as error:  # the process that draws was ended
                seconds, problem = SVG_SECONDS, str(error)
            total += seconds
        if problem is None and total >= allowed:
            problem = f"not drawn: the drawings of the document take more than {allowed:.0f} seconds: convert it to PNG"
        if problem is not None:
            yield i, problem


def is_harmless(problem: str) -> bool:
    """Return whether a ``problem`` is not worth mentioning: an icon, an ornament, or a repeat."""
    return problem.startswith((_ICON, _NAMED, _COPY, _REPEAT, _ORNAMENT))


def kind_of(problem: str) -> str:
    """Return a harmless ``problem`` without the details of a single picture, so that pictures can be counted by it."""
    if problem.startswith(_REPEAT):
        return f"{_REPEAT} an earlier one"
    return re.split(r"[:(]", problem, maxsplit=1)[0].strip()


def copy_problem(source: str) -> str:
    """Return the ``problem`` of a copy of another picture, from ``copies``."""
    return f"{_COPY}: {source}"


def copied_from(problem: str | None) -> str | None:
    """Return the picture that a ``copy_problem`` names; None for another problem."""
    prefix, colon, source = (problem or "").partition(": ")
    return source if colon and prefix == _COPY else None


def plain_name(source: str) -> str:
    """Return the name of a picture's file without suffix and size, in lower case; empty for data."""
    if source.startswith("data:"):
        return ""
    stem = _stem(source)
    return (_OF_SIZE.sub("", stem).strip("-_. ") or stem).lower()


Size = tuple[int, int]


def copies(
    pictures: Iterable[tuple[str, Path | bytes]],
    size_of: Callable[[Path | bytes], Size | None] | None = None,
    *,
    min_side: int = MIN_SIDE,
) -> dict[int, int]:
    """Find small pictures that also exist as large or larger: thumbnails, and the same picture in another encoding.

    Only pictures whose names agree but for a size are compared (``plain_name``), so that few must be decoded.

    Args:
        pictures: Source and content; those with the same bytes are no copies of each other.
        size_of: Width and height; by default from the header.

    Returns:
        Number of a picture to the number of the largest that looks the same; of equal ones the first is the largest.
    """
    groups: dict[str, dict[int, Path | bytes]] = defaultdict(dict)
    for number, (source, file) in enumerate(pictures):
        if name := plain_name(source):
            groups[name][number] = file
    size_of = size_of or (lambda file: _header(file).size)
    copy_of: dict[int, int] = {}
    for files in groups.values():
        if len(files) > 1:
            copy_of |= _copies_of_one_name(files, size_of, SMALL * min_side)
    return copy_of


def _copies_of_one_name(
    files: Mapping[int, Path | bytes], size_of: Callable[[Path | bytes], Size | None], largest_side: int
) -> dict[int, int]:
    """Find ``copies`` among files, if their shorter side is at most ``largest_side``."""
    sizes = {i: size for i, file in files.items() if (size := size_of(file))}
    by_size = sorted(sizes, key=lambda i: (-sizes[i][0] * sizes[i][1], i))
    areas = functools.cache(_areas)
    copy_of: dict[int, int] = {}
    for place, i in enumerate(by_size):
        for j in by_size[:place] if min(sizes[i]) <= largest_side else ():
            is_original = j not in copy_of and _same_shape(sizes[i], sizes[j])
            alike = is_original and _alike(areas(files[i]), areas(files[j]))
            if alike and content_digest(files[i]) != content_digest(files[j]):
                copy_of[i] = j
                break
    return copy_of


def _stem(source: str) -> str:
    """Return the name of the file in an address, without suffix."""
    name = re.split(r"[?#]", source.replace("\\", "/"), maxsplit=1)[0].rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _same_shape(one: Size, other: Size) -> bool:
    """Return whether sides have the same ratio, up to rounding of the smaller picture's sides."""
    (width, height), (wide, high) = one, other
    return abs(width * high - height * wide) <= max(wide, high)


def _areas(file: Path | bytes) -> NDArray[np.float32] | None:
    """Return (16, 16, 3) mean colours of areas, 0 to 255; None if the picture cannot be decoded."""
    try:
        image = decode(file, at_least=8 * POINTS)
    except (ImageError, OSError):
        return None
    return np.asarray(image.resize((POINTS, POINTS), Pillow.Resampling.BOX), np.float32)


def _alike(one: NDArray[np.float32] | None, other: NDArray[np.float32] | None) -> bool:
    if one is None or other is None:
        return False
    return float(np.square(one - other).mean()) <= APART**2 * float(np.square(one - one.mean((0, 1))).mean())


class _Header(NamedTuple):
    """What the header of an image says: its width and height, or the problem, and how it is decoded."""

    size: Size | None
    problem: str | None
    decoder: Decoder


def _header(file: Path | bytes | None, max_pixels: int = MAX_PIXELS) -> _Header:
    if file is None:
        return _Header(None, "file not found", "plain")
    try:
        decoder = image_decoder(file)
        return _Header(_bounded(decoder, image_size, file, max_pixels), None, decoder)
    except ImageError as error:
        return _Header(None, str(error), "plain")


def _icon_problem(source: str, size: Size | None, min_side: int) -> str | None:
    """Return the ``problem`` of an icon, by its size or by its name; None for another picture."""
    if size is None:
        return None
    if min(size) < min_side:
        return f"{_ICON} {min_side} px ({size[0]} × {size[1]}): an icon or a spacer"
    if min(size) <= SMALL * min_side and not source.startswith("data:") and _ICON_NAME.search(_stem(source)):
        return f"{_NAMED} ({size[0]} × {size[1]})"
    return None


def _identity(file: Path | bytes | None) -> Hashable:
    """Return a key that is equal for all names of one file with the same suffix.

    The suffix is part of the key, since it may decide the format.
    """
    if not isinstance(file, Path):
        return file
    try:
        status = file.stat()
    except (OSError, ValueError):  # reported when the header is read
        return file
    return status.st_dev, status.st_ino, file.suffix


def _repeats(files: dict[int, Path | bytes]) -> dict[int, int]:
    """Return, for each file that repeats an earlier one, its number with the number of that file."""
    distinct = set(files.values())
    sizes = {file: encoded_size(file) for file in distinct}
    shared = Counter(sizes.values())
    # A file of a size that no other has repeats none, and need not be read.
    content = {file: content_digest(file) if shared[size] > 1 else file for file, size in sizes.items()}
    first: dict[Path | bytes, int] = {}
    repeats = {}
    for i, file in files.items():
        earlier = first.setdefault(content[file], i)
        if earlier != i:
            repeats[i] = earlier
    return repeats


def _bounded(decoder: Decoder, function: Callable[..., Result], file: Path | bytes, *arguments: Any) -> Result:
    """Call a function of ``images.file`` here, or in the worker process if the header does not show its memory."""
    if decoder == "plain":
        return function(file, decoder, *arguments)
    seconds = SVG_SECONDS if decoder == "svg" else MAX_SECONDS
    try:
        return run_isolated(function, MAX_ISOLATED_MEMORY, seconds, file, decoder, *arguments)
    except LimitError as error:
        limits = f"{MAX_ISOLATED_MEMORY / 2**20:.0f} MiB of memory or {seconds:.0f} seconds"
        raise ImageError(f"takes more than {limits} to decode: scale it down, or save it as JPEG or PNG") from error
