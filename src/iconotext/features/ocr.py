"""Reads the words in images, as lines of text with their boxes, with rapidocr and the models in its package.

``load_line_reader`` makes a ``LineReader``, ``with_lines`` adds the lines to a document. Detection finds lines of text,
recognition reads each. The time per image is bounded by the size at which text is detected and by the length of the
text that is read. Each image is read alone on one core, so that the result does not depend on other images or the
number of workers.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image as Pillow

from iconotext.errors import ImageError
from iconotext.extras import require
from iconotext.images import decode
from iconotext.system.threads import in_threads
from iconotext.types import TextLine

if TYPE_CHECKING:
    from iconotext.features.backbone import Picture
    from iconotext.types import Document

logger = logging.getLogger(__name__)

LONGEST_SIDE = 2000
"""Larger images are first reduced to this longer side in pixels."""

DETECTION_SIDE = 736
"""Longer side in pixels at which text is detected: enough for letters of 12 pixels in a screenshot of 1920 x 1080; with
960 it takes half as long again."""

MOST_TEXT = 1000
"""Limit on the text that is read in an image: total of width / height of the lines, about four characters per unit, the
most certain lines first. A page of 50 long lines has 1,500; 1,000 take some six seconds on one core."""

MOST_READ, BYTES_A_READ = 50, 4_000
"""Number of a document's images whose words are read: ``MOST_READ``, and one more for each ``BYTES_A_READ`` bytes of
their files."""

LEAST_CONFIDENCE = 0.6
"""Lines of lower confidence are dropped, since most are no text."""

_TELLING = re.compile(r"[^\W_]{2}")  # single letters and digits are labels in a drawing, or no text
_UPRIGHT = 1.5  # in boxes that are this much higher than wide, text is rotated


@dataclass(frozen=True, slots=True, eq=False)
class LineReader:
    """Reads the text in images.

    Attributes:
        name: A name that identifies models and processing: equal names give equal lines. It is part of the cache key.
        read: Returns for each image its lines in reading order, or the reason why it cannot be decoded.
    """

    name: str
    read: Callable[[Sequence[Picture]], list[tuple[TextLine, ...] | str]]


def load_line_reader() -> LineReader:
    """Make the reader of the extra ``ocr``; its models are loaded at the first image."""
    require("ocr", purpose="reading the words in pictures")
    engines = cache(_engines)

    def read(files: Sequence[Picture]) -> list[tuple[TextLine, ...] | str]:
        return list(in_threads(lambda file: _read(file, *engines()), files))

    return LineReader(f"rapidocr-{version('rapidocr')}-{LONGEST_SIDE}-{DETECTION_SIDE}-{MOST_TEXT}", read)


def with_lines(document: Document, reader: LineReader) -> Document:
    """Add the lines of text in images that have none yet; a broken image gets a ``problem``.

    Of thousands of images of a few bytes each only the first ones are read; the others get no lines, and the log
    reports how many.
    """
    images = list(document.images)
    numbers = [j for j, x in enumerate(images) if x.problem is None and x.file is not None and x.lines is None]
    most = MOST_READ + sum(_file_size(images[j].file) for j in numbers) // BYTES_A_READ
    for j in numbers[most:]:
        images[j] = replace(images[j], lines=())
    if len(numbers) > most:
        reason = f"more than {MOST_READ} pictures, of fewer than {BYTES_A_READ:,} bytes each"
        logger.warning("%s: the words in %d pictures are not read: %s", document.id, len(numbers) - most, reason)
    numbers = numbers[:most]
    for j, lines in zip(numbers, reader.read([images[j].file or b"" for j in numbers]), strict=True):
        if isinstance(lines, str):
            images[j] = replace(images[j], problem=lines.removeprefix(f"{images[j].file!s}: "))
        else:
            images[j] = replace(images[j], lines=lines)
    return replace(document, images=tuple(images))


def _file_size(file: Picture | None) -> int:
    try:
        return len(file) if isinstance(file, bytes) else file.stat().st_size if file is not None else 0
    except OSError:  # the file is gone; reading it reports this
        return 0


def _engines() -> tuple[Any, Any]:
    """Make two rapidocr objects, a detector and a recogniser.

    With one object for both, its switches would be shared between threads.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported; without it, it sends telemetry
    from rapidocr import RapidOCR

    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    common = {"Global.log_level": "critical", "Global.use_cls": False, "Global.max_side_len": LONGEST_SIDE, **threads}
    detection = {"Det.limit_side_len": DETECTION_SIDE, "Det.limit_type": "max", "Global.use_rec": False}
    return RapidOCR(params=common | detection), RapidOCR(params=common | {"Global.use_det": False})


def _read(file: Picture, detector: Any, recogniser: Any) -> tuple[TextLine, ...] | str:
    try:
        image = decode(file)
    except ImageError as error:
        return str(error)
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Pillow.Resampling.LANCZOS)
    detection = detector(_bgr(image))
    if detection.boxes is None:
        return ()
    corners = np.asarray(detection.boxes, np.float64)  # (n, 4, 2), clockwise from the top left
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)
    lengths = np.maximum(sides[:, 0], sides[:, 1]) / np.maximum(np.minimum(sides[:, 0], sides[:, 1]), 1.0)
    certain = np.argsort(-np.asarray(detection.scores), kind="stable")
    within = certain[np.cumsum(lengths[certain]) <= MOST_TEXT]
    lines = (_line(image, corners[n], sides[n], recogniser) for n in sorted(within))
    return tuple(line for line in lines if line.confidence >= LEAST_CONFIDENCE and _TELLING.search(line.text))


def _line(image: Pillow.Image, corners: Any, sides: Any, recogniser: Any) -> TextLine:
    width, height = (max(round(float(side)), 1) for side in sides[:2])
    top_left, top_right, bottom_right, bottom_left = corners
    outline = np.concatenate([top_left, bottom_left, bottom_right, top_right]).tolist()
    straight = image.transform((width, height), Pillow.Transform.QUAD, outline, Pillow.Resampling.BICUBIC)
    turns = (Pillow.Transpose.ROTATE_270, Pillow.Transpose.ROTATE_90) if height >= _UPRIGHT * width else ()
    tried = [recogniser(_bgr(turned)) for turned in map(straight.transpose, turns)] or [recogniser(_bgr(straight))]
    best = max(tried, key=lambda reading: reading.scores[0])
    size = np.array(image.size)
    box = np.clip(np.concatenate([corners.min(axis=0) / size, corners.max(axis=0) / size]), 0, 1)
    left, top, right, bottom = (round(float(edge), 4) for edge in box)
    return TextLine(" ".join(best.txts[0].split()), round(float(best.scores[0]), 3), (left, top, right, bottom))


def _bgr(image: Pillow.Image) -> Any:
    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])
