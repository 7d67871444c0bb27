"""Small PDFs written operator by operator, so that a test says exactly what stands where."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Helvetica-Oblique", "F4": "Courier"}


def jpeg(seed: int = 0, size: tuple[int, int] = (160, 120), exif: bytes | None = None) -> bytes:
    """A smooth coloured picture, another one for each seed."""
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    picture = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)
    picture.save(buffer, "JPEG", quality=90, **({"exif": exif} if exif else {}))
    return buffer.getvalue()


def png(seed: int = 0, size: tuple[int, int] = (160, 120)) -> bytes:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(jpeg(seed, size))).save(buffer, "PNG")
    return buffer.getvalue()


@dataclass
class Sheet:
    """One page, 612 × 792 points, that text and pictures are put on; y counts from the top."""

    content: list[str] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    extra: str = ""  # more entries of the page's dictionary
    xobjects: dict[str, int] = field(default_factory=dict)

    def text(self, x: float, y: float, text: str, *, size: float = 10, font: str = "F1") -> None:
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        self.content.append(f"BT /{font} {size} Tf 1 0 0 1 {x} {792 - y} Tm ({escaped}) Tj ET")

    def lines(self, x: float, y: float, lines: list[str], *, size: float = 10, font: str = "F1") -> float:
        for line in lines:
            self.text(x, y, line, size=size, font=font)
            y += 1.2 * size
        return y

    @contextmanager
    def marked(self, content: int | None, name: str = "Span") -> Iterator[None]:
        """Mark what is put on the sheet meanwhile: a numbered content, or an artifact, say."""
        self.content.append(f"/{name} BMC" if content is None else f"/{name} << /MCID {content} >> BDC")
        yield
        self.content.append("EMC")

    def curve(self, x: float, y: float, width: float, height: float) -> None:
        """A drawn line from one corner to the other."""
        foot = 792 - y - height
        self.content.append(f"{x} {foot} m {x + width / 2} {foot + 9} l {x + width} {foot + height} l S")

    def picture(self, x: float, y: float, width: float, height: float, data: bytes, matrix: str | None = None) -> None:
        """A JPEG with its top left corner at (x, y)."""
        name = next((key for key, value in self.pictures.items() if value is data), f"Im{len(self.pictures)}")
        self.pictures[name] = data
        self.content.append(f"q {matrix or f'{width} 0 0 {height} {x} {792 - y - height}'} cm /{name} Do Q")


def write_pdf(
    sheets: list[Sheet], *, objects: dict[int, bytes] | None = None, catalog: str = "", fonts: str = ""
) -> bytes:
    """The bytes of a PDF. ``objects`` are further numbered objects, from 900 up, that sheets and ``fonts`` may name."""
    bodies: dict[int, bytes] = dict(objects or {})
    number = 10
    for key, (name, base) in enumerate(FONTS.items(), 3):
        bodies[key] = f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding /WinAnsiEncoding >>".encode()
        assert name == f"F{key - 2}"
    stored: dict[bytes, int] = {}
    pages = []
    for sheet in sheets:
        names = dict(sheet.xobjects)
        for name, data in sheet.pictures.items():
            if data not in stored:
                stored[data] = number
                bodies[number] = image_object(data)
                number += 1
            names[name] = stored[data]
        drawn = "\n".join(sheet.content).encode("cp1252")
        bodies[number] = stream("", drawn)
        named = " ".join(f"/{name} {key} 0 R" for key, name in enumerate(FONTS, 3))
        xobjects = " ".join(f"/{name} {key} 0 R" for name, key in names.items())
        bodies[number + 1] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number} 0 R {sheet.extra}"
            f" /Resources << /Font << {named} {fonts} >> /XObject << {xobjects} >> >> >>"
        ).encode()
        pages.append(number + 1)
        number += 2
    bodies[1] = f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode()
    bodies[2] = f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{n} 0 R' for n in pages)}] >>".encode()
    return file_of(bodies)


Element = tuple[str, str, list["Element | int"]]
"""A tag: its name, further entries of its dictionary, and the tags or the numbers of marked contents in it."""


def tagged_pdf(sheet: Sheet, *elements: Element, entries: str = "", objects: dict[int, bytes] | None = None) -> bytes:
    """A tagged PDF of one page; ``entries`` are further ones of the tree's root."""
    bodies = dict(objects or {})
    parents: dict[int, int] = {}  # content to the object of its tag
    page = 11 + len(sheet.pictures)

    def add(element: Element, parent: int) -> int:
        name, more, kids = element
        number = 1000 + len(bodies)
        bodies[number] = b""
        parents.update({kid: number for kid in kids if isinstance(kid, int)})
        within = " ".join(str(kid) if isinstance(kid, int) else f"{add(kid, number)} 0 R" for kid in kids)
        head = f"<< /Type /StructElem /S /{name} /P {parent} 0 R /Pg {page} 0 R"
        bodies[number] = f"{head} /K [{within}] {more} >>".encode("latin-1")
        return number

    roots = " ".join(f"{add(element, 990)} 0 R" for element in elements)
    listed = " ".join(
        f"{parents[content]} 0 R" if content in parents else "null" for content in range(max(parents) + 1)
    )
    bodies[990] = f"<< /Type /StructTreeRoot /K [{roots}] /ParentTree 991 0 R {entries} >>".encode()
    bodies[991] = f"<< /Nums [0 [{listed}]] >>".encode()
    sheet.extra += " /StructParents 0"
    return write_pdf([sheet], objects=bodies, catalog="/MarkInfo << /Marked true >> /StructTreeRoot 990 0 R")


def tram_pdf() -> bytes:
    """A page of two sentences and a picture below them."""
    sheet = Sheet()
    sheet.lines(72, 110, ["A red tram waits at the stop.", "The driver drinks coffee."])
    sheet.picture(72, 200, 160, 120, jpeg())
    return write_pdf([sheet])


def image_object(data: bytes) -> bytes:
    with Image.open(io.BytesIO(data)) as picture:
        width, height = picture.size
        space = {"L": "DeviceGray", "RGB": "DeviceRGB", "CMYK": "DeviceCMYK"}[picture.mode]
        kind, packed = "DCTDecode", data
        if picture.format != "JPEG":
            kind, packed = "FlateDecode", zlib.compress(picture.tobytes())
    head = f"/Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /{space} /BitsPerComponent 8"
    if space == "DeviceCMYK":
        head += " /Decode [1 0 1 0 1 0 1 0]"  # in a JPEG the four inks are stored inverted
    return stream(f"{head} /Filter /{kind}", packed)


def stream(head: str, data: bytes) -> bytes:
    return f"<< {head} /Length {len(data)} >>\nstream\n".encode() + data + b"\nendstream"


def file_of(bodies: dict[int, bytes]) -> bytes:
    """A file of numbered objects with its table of places."""
    out = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, body in sorted(bodies.items()):
        places[number] = len(out)
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in sorted(places.items()):
        out += f"{number} 1\n{place:010d} 00000 n \n".encode()
    out += f"trailer << /Size {max(places) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(out)
