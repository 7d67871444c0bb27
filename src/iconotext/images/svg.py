"""The drawing of SVG files, without scripts and without anything outside the file.

All of it may take any amount of memory and time, and a drawing may crash the process: use ``run_isolated``.
"""

from __future__ import annotations

import io
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lxml import etree
from PIL import Image as Pillow

from iconotext.errors import ImageError, one_line
from iconotext.images.raster import on_white

LONGER_SIDE = 1024  # longer side of the result in pixels, whatever size the drawing declares
MAX_BYTES = 20 * 2**20  # maximum size of the file

# Allowed addresses: a part of the file, or an embedded raster image. resvg would open any other path.
OWN = re.compile(r"\s*(?:#|data:image/(?:png|jpe?g|gif|webp)[;,])", re.IGNORECASE)
NUMBER = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,3})?"
LENGTH = re.compile(rf"\s*+({NUMBER})\s*+([a-zA-Z%]*+)\s*+$")
PIXELS = {"": 1, "px": 1, "pt": 4 / 3, "pc": 16, "in": 96, "mm": 96 / 25.4, "cm": 96 / 2.54, "q": 96 / 101.6}
PIXELS |= {"em": 16, "rem": 16, "ex": 8}
LONGEST = 200  # maximum number of characters of a numeric attribute
DEFAULT_SIZE = (300.0, 150.0)  # as in CSS, for a drawing without a size

Element = Any  # lxml has no types of its own that mypy could check


def svg_size(data: bytes) -> tuple[int, int]:
    """Return the width and height in pixels that a drawing declares, else those of its ``viewBox``."""
    width, height = _size(_parsed(data)) or DEFAULT_SIZE
    return round(width), round(height)


def render_svg(data: bytes) -> Pillow.Image:
    """Draw an SVG on white, its longer side ``LONGER_SIDE`` pixels; all its text in Open Sans."""
    from resvg_py import svg_to_bytes

    root = _parsed(data)
    for element in root.iter(etree.Element):
        for name, value in element.items():
            if etree.QName(name).localname == "href" and not OWN.match(value):
                del element.attrib[name]
    if size := _size(root):  # resvg knows fewer units, and for a size in per cent takes that of the content
        root.set("width", f"{size[0]:.6f}")
        root.set("height", f"{size[1]:.6f}")
    font = "Open Sans"
    try:
        drawn = svg_to_bytes(
            svg_string=etree.tostring(root, encoding="unicode"),
            width=LONGER_SIDE,
            height=LONGER_SIDE,  # the aspect ratio stays
            dpi=96,
            skip_system_fonts=True,  # the same drawing on every machine
            font_files=[_font()],
            font_family=font,
            serif_family=font,
            sans_serif_family=font,
            cursive_family=font,
            fantasy_family=font,
            monospace_family=font,
        )
    except ValueError as error:
        raise ImageError(f"an SVG that cannot be drawn ({error}): convert it to PNG") from error
    with Pillow.open(io.BytesIO(drawn), formats=["PNG"]) as image:
        rgba = image.convert("RGBA")
    if rgba.getchannel("A").getextrema() == (0, 0):
        raise ImageError("an SVG with nothing to be seen in it")
    return on_white(rgba)


def _font() -> str:
    spec = find_spec("ttf_opensans")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package ttf-opensans is missing: install iconotext again")
    return str(Path(spec.origin).parent / "ttf" / "OpenSans-Regular.ttf")


def _parsed(data: bytes) -> Element:
    if len(data) > MAX_BYTES:
        raise ImageError(f"an SVG of more than {MAX_BYTES / 2**20:.0f} MiB: convert it to PNG")
    # Entities are usual in drawings of some programs; libxml2 limits their expansion.
    parser = etree.XMLParser(
        resolve_entities="internal",  # type: ignore[arg-type]  # the stubs are older
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ImageError(f"a damaged SVG ({one_line(error)}): save or download it again") from error
    if root.tag != "{http://www.w3.org/2000/svg}svg":
        raise ImageError("no SVG drawing: its outermost element is another one, or not in SVG's namespace")
    return root


def _size(root: Element) -> tuple[float, float] | None:
    """Return width and height in pixels; None if the drawing declares neither them nor a ``viewBox``."""
    box = [float(number) for number in re.findall(NUMBER, (root.get("viewBox") or "")[:LONGEST])]
    inner = (box[2], box[3]) if len(box) == 4 and box[2] > 0 and box[3] > 0 else None
    width, height = _length(root.get("width")), _length(root.get("height"))
    ratio = inner[0] / inner[1] if inner else DEFAULT_SIZE[0] / DEFAULT_SIZE[1]
    if width is None and height is None:
        if inner is None:
            return None
        width, height = inner
    elif width is None or height is None:
        width, height = width or (height or 0) * ratio, height or (width or 0) / ratio
    return min(width, 1e6), min(height, 1e6)


def _length(value: str | None) -> float | None:
    match = LENGTH.match((value or "")[:LONGEST])
    length = float(match[1]) * PIXELS.get(match[2].lower(), 0) if match else 0.0  # 0 for other units, such as per cent
    return length if length > 0 else None
