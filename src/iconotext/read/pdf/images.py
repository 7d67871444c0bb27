"""The embedded images on a page of a PDF, as a viewer shows them, and what its tags call figures."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from iconotext.read.blocks import FlowImage
from iconotext.read.pdf.lines import Box, Handle, Transform, bounding_box, composed, transformed_box
from iconotext.read.pdf.tags import Tag, Tags

MAX_OBJECTS = 50_000  # maximum number of objects of a page that are looked at
MAX_IMAGES = 200  # maximum number of images of a page; of more, the largest are taken
MAX_DEPTH = 8  # maximum depth of forms within forms

MAX_DRAWN = 25_000_000
"""Maximum number of pixels that an image, or strips of one, are drawn with; decoding keeps no more either."""

RENDERED_SIDE = 128
"""Sides in pixels of the small rendering that shows whether an image is the same as before, or has a mask."""

MAX_COMPARED = 10  # after this many equal renderings of images with the same data, further images are taken to be equal

MAX_COMPARED_PIXELS = 1_000_000_000
"""Maximum number of pixels, in the whole document, of images that are rendered for comparison of equal data."""

SMALLEST = 8.0  # points; a smaller image is a rule, a bullet or a spacer

SHARPNESS = 2.0  # pixels for a point of a figure that is drawn of lines

WHOLE = 0.5  # share of a figure from which on an embedded image is taken for all of it
PAGE = 0.8  # share of a page from which on a figure is taken for a tag around all that is on the page


@dataclass(slots=True)
class PageImage:
    """An image on a page."""

    image: FlowImage  # with its bytes, page and box
    box: Box  # its place in points
    key: int | None = None  # equal for equal images


@dataclass(frozen=True, slots=True)
class ImageObject:
    """An image as the file draws it."""

    image: Handle
    box: Box
    transform: Transform
    tag: Tag

    @property
    def sharpness(self) -> float:
        """Pixels for a point."""
        return float(self.image.get_px_size()[0]) / max(self.box[2] - self.box[0], 1)


@dataclass(slots=True)
class _Renderings:
    """The results for images with the same data, by their renderings: masks, which pdfium does not show, may differ."""

    compared: int = 0
    results: dict[bytes, tuple[bytes | None, str | None]] = field(default_factory=dict)


class ImageDecoder:
    """Decodes the images of one document; one that is drawn many times is decoded once."""

    def __init__(self, max_pixels: int) -> None:
        self.max_pixels = max_pixels
        self._renderings: dict[Hashable, _Renderings] = {}
        self._compared_pixels = 0

    def contents(self, image: Handle, transform: Transform) -> tuple[bytes | None, str | None]:
        """Return a picture's bytes (the JPEG of the file if shown unchanged, else as drawn), or why it has none."""
        try:
            width, height = image.get_px_size()
            if width * height > self.max_pixels:
                return None, f"{width} × {height} are more than {self.max_pixels:,} pixels: scale it down"
            if min(width, height) < 2:
                return None, "a single line of pixels"
            earlier = self._renderings.setdefault(_identity(image, transform), _Renderings())
            if earlier.compared >= MAX_COMPARED and len(earlier.results) == 1:
                return next(iter(earlier.results.values()))
            if earlier.compared:
                self._compared_pixels += width * height
            if self._compared_pixels > MAX_COMPARED_PIXELS:
                return None, "not decoded: the document draws large pictures too often: split it"
            earlier.compared += 1
            rendering = _rendered(image, pdfium.PdfMatrix(RENDERED_SIDE, 0, 0, RENDERED_SIDE, 0, 0)).to_numpy()
            digest = hashlib.blake2b(rendering.tobytes()).digest()
            if digest not in earlier.results:
                plain = _is_plain_jpeg(image, transform) and not _has_mask(rendering)
                jpeg = _without_exif(bytes(image.get_data(decode_simple=True))) if plain else None
                earlier.results[digest] = jpeg or _png(_as_drawn(image)), None
            return earlier.results[digest]
        except (pdfium.PdfiumError, ValueError, OSError, MemoryError, ZeroDivisionError) as error:
            return None, f"cannot be decoded: {' '.join(str(error).split()) or type(error).__name__}"


class PageImages:
    """The images of a page; ``transform`` leads from the page's coordinates to the shown page."""

    def __init__(self, page: Handle, number: int, transform: Transform, decoder: ImageDecoder) -> None:
        self.page = page
        self.number = number
        self.width, self.height = page.get_size()
        self.transform = transform
        self.decoder = decoder
        self.tags = Tags(page)
        self.visited = 0
        self.parts: defaultdict[int, list[Box]] = defaultdict(list)  # the places of the objects of each figure

    def read(self) -> list[PageImage]:
        """Return the images in the order of the file, then drawn figures; strips of one image are joined."""
        objects = [
            ImageObject(image, box, transform, tag)
            for image, transform, tag in self._images(self.page, self.transform, 0)
            if (box := self._place(image, transform))
        ]
        figures = self._figures(objects)
        objects = [item for item in objects if item.tag.figure not in figures]
        if len(objects) > MAX_IMAGES:  # a map or a pattern, drawn in pieces: take the largest
            least = sorted((_area(item.box) for item in objects), reverse=True)[MAX_IMAGES]
            objects = [item for item in objects if _area(item.box) > least]
        slices = _slices(objects)
        sliced = {number for group in slices for number in group}
        images: list[PageImage] = []
        for number, item in enumerate(objects):
            group = next((g for g in slices if g[0] == number), None)
            if group is not None:
                joined = bounding_box([objects[n].box for n in group])
                images.append(self._page_image(joined, item.tag, *self._region(joined, max(item.sharpness, 1.0))))
            elif number not in sliced:
                contents = self.decoder.contents(item.image, item.transform)
                images.append(self._page_image(item.box, item.tag, *contents))
        for box, tag, sharpness in figures.values():
            images.append(self._page_image(box, tag, *self._region(box, sharpness)))
        return images

    def _figures(self, objects: Sequence[ImageObject]) -> dict[int, tuple[Box, Tag, float]]:
        """Return the place of each figure that is no single image: a drawing, or several images with words on them."""
        images: defaultdict[int | None, list[ImageObject]] = defaultdict(list)
        for item in objects:
            images[item.tag.figure].append(item)
        figures = {}
        for number, boxes in islice(self.parts.items(), MAX_IMAGES):
            figure, within, box = self.tags.figures[number], images[number], self._visible(bounding_box(boxes))
            stated = self._visible(transformed_box(self.transform, *figure.box)) if figure.box is not None else None
            if box is not None and stated is not None and _is_within(stated, box):
                box = stated  # what is drawn outside of it is clipped
            is_image = len(within) == 1 and box is not None and _area(within[0].box) >= WHOLE * _area(box)
            if box is not None and not is_image and _area(box) < PAGE * self.width * self.height:
                sharpness = max([SHARPNESS, *(item.sharpness for item in within)])
                figures[number] = box, figure, sharpness
        return figures

    def _images(
        self, parent: Handle, transform: Transform, depth: int, around: Tag | None = None
    ) -> Iterator[tuple[Handle, Transform, Tag]]:
        """Yield image objects with their transforms to the shown page; forms may contain forms, even themselves."""
        count, get = (
            (raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject)
            if depth
            else (raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject)
        )
        for number in range(count(parent)):
            self.visited += 1
            if self.visited > MAX_OBJECTS:
                return
            handle = get(parent, number)
            kind = raw.FPDFPageObj_GetType(handle) if handle else raw.FPDF_PAGEOBJ_UNKNOWN
            if kind == raw.FPDF_PAGEOBJ_UNKNOWN:
                continue
            tag = self.tags.of(handle, around)
            if depth == 0 and tag.figure is not None:
                with contextlib.suppress(pdfium.PdfiumError):
                    place = transformed_box(transform, *pdfium.PdfObject(handle, page=self.page).get_bounds())
                    if _area(place) > 0 or kind == raw.FPDF_PAGEOBJ_PATH:  # an empty form is nowhere
                        self.parts[tag.figure].append(place)
            if kind == raw.FPDF_PAGEOBJ_IMAGE:
                yield pdfium.PdfObject(handle, page=self.page), transform, tag
            elif kind == raw.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
                matrix = raw.FS_MATRIX()
                if raw.FPDFPageObj_GetMatrix(handle, matrix):
                    values = (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
                    yield from self._images(handle, composed(values, transform), depth + 1, tag)

    def _place(self, image: Handle, transform: Transform) -> Box | None:
        """Return the position of an image on the page; None if it is not visible."""
        try:
            return self._visible(transformed_box(transform, *image.get_bounds()))
        except pdfium.PdfiumError:
            return None

    def _visible(self, box: Box) -> Box | None:
        """Return the part of a box that is on the page; None if hardly any is."""
        left, top, right, bottom = box
        left, right = max(left, 0.0), min(right, self.width)
        top, bottom = max(top, 0.0), min(bottom, self.height)
        return (left, top, right, bottom) if right - left >= SMALLEST and bottom - top >= SMALLEST else None

    def _page_image(self, box: Box, tag: Tag, file: bytes | None, problem: str | None) -> PageImage:
        width, height = max(self.width, 1.0), max(self.height, 1.0)
        share = (box[0] / width, box[1] / height, box[2] / width, box[3] / height)
        image = FlowImage(
            ("",),
            alt=tag.alt,
            alt_unknown=tag.unknown,
            decorative=tag.decorative,
            file=file,
            page=self.number,
            box=share,
            problem=problem,
        )
        return PageImage(image, box, hash(file) if file is not None else None)

    def _region(self, box: Box, scale: float) -> tuple[bytes | None, str | None]:
        """Draw a part of the page."""
        left, top, right, bottom = box
        scale = min(scale, math.sqrt(MAX_DRAWN / max((right - left) * (bottom - top), 1.0)), 8.0)
        try:
            crop = (left, self.height - bottom, self.width - right, top)
            return _png(self.page.render(scale=scale, crop=crop).to_pil()), None
        except (pdfium.PdfiumError, ValueError, MemoryError) as error:
            return None, f"cannot be decoded: {' '.join(str(error).split())}"


def _identity(image: Handle, transform: Transform) -> Hashable:
    """Return a key that is equal for images with the same data, turned and stretched alike; their masks may differ."""
    data = memoryview(image.get_data())
    filters, colours = image.get_filters(), image.get_metadata()
    image_matrix = image.get_matrix().get()
    turned = tuple(_direction(matrix) for matrix in (image_matrix, composed(image_matrix, transform)))
    format_ = (*filters, colours.bits_per_pixel, colours.colorspace)
    return hashlib.blake2b(data).digest(), image.get_px_size(), format_, turned


def _direction(matrix: Transform) -> tuple[float, ...]:
    """Return the four factors of a transform without its size."""
    longest = max(map(abs, matrix[:4])) or 1.0
    return tuple(round(factor / longest, 3) for factor in matrix[:4])


def _as_drawn(image: Handle) -> Handle:
    """Return an image as the page shows it, its sides about as long as in the file, of at most ``MAX_DRAWN`` pixels."""
    across, down = image.get_px_size()
    left, bottom, right, top = image.get_bounds()
    width, height = right - left, top - bottom
    if (across < down) != (width < height):  # turned by 90 degrees
        across, down = down, across
    scale = min(max(across / width, down / height), math.sqrt(MAX_DRAWN / (width * height)))
    return _rendered(image, image.get_matrix().scale(scale, scale)).to_pil()


def _rendered(image: Handle, matrix: Handle) -> Handle:
    before = image.get_matrix()
    image.set_matrix(matrix)
    try:
        return image.get_bitmap(render=True, scale_to_original=False)
    finally:
        image.set_matrix(before)


def _is_plain_jpeg(image: Handle, transform: Transform) -> bool:
    if image.get_filters(skip_simple=True) != ["DCTDecode"]:
        return False
    a, b, c, d, _, _ = composed(image.get_matrix().get(), transform)
    if not (a > 0 > d and abs(b) < 0.01 * a and abs(c) < 0.01 * -d):
        return False
    colours = image.get_metadata()
    return colours.bits_per_pixel in (8, 24) and colours.colorspace != raw.FPDF_COLORSPACE_DEVICECMYK


def _without_exif(jpeg: bytes) -> bytes:
    """Return a JPEG without EXIF data: the page determines its rotation, and EXIF would rotate it again."""
    at, parts = 2, [jpeg[:2]]
    while at + 4 <= len(jpeg) and jpeg[at] == 0xFF and jpeg[at + 1] not in (0xDA, 0xD9):
        end = at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if not (jpeg[at + 1] == 0xE1 and jpeg[at + 4 : at + 8] == b"Exif"):
            parts.append(jpeg[at:end])
        at = end
    return b"".join([*parts, jpeg[at:]])


def _has_mask(rendering: Any) -> bool:
    if rendering.shape[2:] != (4,):
        return False
    # The outermost pixels are only partly covered, whatever the image.
    return bool((rendering[2:-2, 2:-2, 3] < 250).mean() > 0.01)


def _png(image: Handle) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _is_within(inner: Box, outer: Box) -> bool:
    return all(a > b - 2 for a, b in zip((*inner[:2], *outer[2:]), (*outer[:2], *inner[2:]), strict=True))


def _slices(objects: list[ImageObject]) -> list[list[int]]:
    """Group images that are strips or tiles of one: adjacent, and of equal width or height."""
    group_of = list(range(len(objects)))
    for number, item in enumerate(objects):
        for other in range(number):
            axis = _flush(objects[other].box, item.box)
            if axis is not None and item.image.get_px_size()[axis] == objects[other].image.get_px_size()[axis]:
                old, new = group_of[other], group_of[number]
                group_of = [new if group == old else group for group in group_of]
    groups: dict[int, list[int]] = {}
    for number, group in enumerate(group_of):
        groups.setdefault(group, []).append(number)
    return [g for g in groups.values() if len(g) > 4 or (len(g) > 1 and any(_is_strip(objects[n].box) for n in g))]


def _flush(one: Box, other: Box) -> int | None:
    """Return 0 if one image is directly above the other, 1 if they are side by side, else None."""
    for axis in (0, 1):
        sides = abs(one[axis] - other[axis]) < 1 and abs(one[axis + 2] - other[axis + 2]) < 1
        across = 1 - axis
        if sides and min(abs(one[across + 2] - other[across]), abs(other[across + 2] - one[across])) < 1:
            return axis
    return None


def _is_strip(box: Box) -> bool:
    width, height = box[2] - box[0], box[3] - box[1]
    return max(width, height) > 5 * min(width, height)
