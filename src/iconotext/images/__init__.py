"""Decodes images to pixels, and finds the images of a document that are not to be linked."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image as Pillow

from iconotext.errors import ImageError
from iconotext.images.file import decode_image, decode_pixels, image_kind, image_size
from iconotext.images.kind import Kind
from iconotext.types import Image
from iconotext.worker import LimitError, run_isolated

MAX_PIXELS = 100_000_000
"""Images with more pixels are refused."""

MIN_SIDE = 64
"""Images with a shorter side than this, in pixels, count as icons, bullets and spacers."""

MAX_ISOLATED_MEMORY = 768 * 2**20
"""Bytes of memory that the worker process may take for decoding an image."""

MAX_SECONDS, SVG_SECONDS = 120.0, 10.0
"""Time limits, in seconds, for decoding an image, and an SVG, in the worker process."""

_ICON, _REPEAT = "smaller than", "the same picture as"

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
        kind = image_kind(file)
        if kind == "plain":
            return decode_image(file, kind, at_least, max_pixels)
        size, pixels = _isolated_if_needed(kind, decode_pixels, file, at_least, max_pixels)
        return Pillow.frombytes("RGB", size, pixels)
    except ImageError as error:
        if isinstance(file, bytes):
            raise
        raise ImageError(f"{file}: {error}") from error


def inspect(images: Sequence[Image], *, min_side: int = MIN_SIDE, max_pixels: int = MAX_PIXELS) -> tuple[Image, ...]:
    """Set the problem of images that are not to be linked, from their headers alone.

    Args:
        images: The images of one document. An existing ``problem`` stays.
        min_side: Images with a shorter side, in pixels, are icons or spacers.
        max_pixels: As for ``decode``.

    Returns:
        The same images in order, with a ``problem`` if the file is missing or not an image, the image is too small, or
        it has the same bytes as an earlier one.
    """
    known: dict[Hashable, Path | bytes | None] = {}
    same = [known.setdefault(_identity(image.file), image.file) for image in images]
    # A document may name one large file a thousand times: read each file once.
    look = functools.cache(functools.partial(_header_problem, min_side=min_side, max_pixels=max_pixels))
    problems = [image.problem or look(file) for image, file in zip(images, same, strict=True)]
    files = {i: file for i, file in enumerate(same) if problems[i] is None and file is not None}
    for repeat, first in _repeats(files).items():
        source = images[first].source
        problems[repeat] = f"{_REPEAT} {'an earlier picture' if source.startswith('data:') else source}"
    return tuple(
        image if image.problem == problem else replace(image, problem=problem)
        for image, problem in zip(images, problems, strict=True)
    )


def is_harmless(problem: str) -> bool:
    """Whether a ``problem`` is not worth mentioning: an icon, or a repeat."""
    return problem.startswith((_ICON, _REPEAT))


def _header_problem(file: Path | bytes | None, min_side: int, max_pixels: int) -> str | None:
    if file is None:
        return "file not found"
    try:
        width, height = _isolated_if_needed(image_kind(file), image_size, file, max_pixels)
    except ImageError as error:
        return str(error)
    if min(width, height) < min_side:
        return f"{_ICON} {min_side} px ({width} × {height}): an icon or a spacer"
    return None


def _identity(file: Path | bytes | None) -> Hashable:
    """Equal for all names of one file with the same suffix (the format may depend on the suffix)."""
    if not isinstance(file, Path):
        return file
    try:
        status = file.stat()
    except (OSError, ValueError):  # reported when the header is read
        return file
    return status.st_dev, status.st_ino, file.suffix


def _repeats(files: dict[int, Path | bytes]) -> dict[int, int]:
    """Number of a file that repeats an earlier one to the number of that one."""
    distinct = dict.fromkeys(files.values())
    sizes = {file: len(file) if isinstance(file, bytes) else file.stat().st_size for file in distinct}
    shared = Counter(sizes.values())
    # A file of unique size needs no reading.
    content = {file: _digest(file) if shared[size] > 1 else file for file, size in sizes.items()}
    first: dict[Path | bytes, int] = {}
    repeats = {}
    for i, file in files.items():
        earlier = first.setdefault(content[file], i)
        if earlier != i:
            repeats[i] = earlier
    return repeats


def _digest(file: Path | bytes) -> bytes:
    if isinstance(file, bytes):
        return hashlib.sha256(file).digest()
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _isolated_if_needed(kind: Kind, function: Callable[..., Result], file: Path | bytes, *arguments: Any) -> Result:
    """Call a function of ``images.file`` here, or in the worker process if the header does not show its memory."""
    if kind == "plain":
        return function(file, kind, *arguments)
    seconds = SVG_SECONDS if kind == "SVG" else MAX_SECONDS
    try:
        return run_isolated(function, MAX_ISOLATED_MEMORY, seconds, file, kind, *arguments)
    except LimitError as error:
        limits = f"{MAX_ISOLATED_MEMORY / 2**20:.0f} MiB of memory or {seconds:.0f} seconds"
        raise ImageError(f"takes more than {limits} to decode: scale it down, or save it as JPEG or PNG") from error
