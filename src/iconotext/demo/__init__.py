"""An example article, with which users can try linking without a document.

The text is ours, the photographs come with scikit-image, and one picture is a drawn card with words.
"""

from __future__ import annotations

import io
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from iconotext.extras import require
from iconotext.system.files import write_bytes

PHOTOGRAPHS = {
    "cat.jpg": "chelsea.png",
    "coffee.jpg": "coffee.png",
    "deep-field.jpg": "hubble_deep_field.jpg",
    "eye.jpg": "retina.jpg",
    "launch.jpg": "rocket.jpg",
    "lawn.png": "grass.png",
    "path.png": "brick.png",
    "portrait.jpg": "astronaut.png",
    "smear.png": "clock_motion.png",
    "tripod.png": "camera.png",
}
"""File name to the name in scikit-image's data folder. These photographs are in the public domain or CC0 by its
documentation, and part of its wheel. They are read as files: nothing is downloaded, and the packages that scikit-image
requires are not needed."""

CARD = "IMG_2041.png"
"""A picture whose alternative text is the name of its file: only the words in it show where it belongs."""

ON_THE_CARD = ("Aperture: wide open", "Shutter: 1/250 s", "Focus: by hand")


def write_demo(folder: Path, *, force: bool = False) -> Path:
    """Write the example article and its pictures.

    Args:
        folder: The target of ``article.md`` and the folder ``pictures``; created if necessary.
        force: Replace existing files.

    Returns:
        The article.

    Raises:
        MissingPackageError: scikit-image is not installed.
        OutputError: A file exists or cannot be written.
    """
    article = folder / "article.md"
    text = (resources.files("iconotext.demo") / "article.md").read_bytes()
    for name, photograph in PHOTOGRAPHS.items():
        write_bytes(folder / "pictures" / name, _encoded(photograph, Path(name).suffix), force=force)
    write_bytes(folder / "pictures" / CARD, _card(), force=force)
    write_bytes(article, text, force=force)  # last: if the article exists, so do its pictures
    return article


def _card() -> bytes:
    from PIL import Image, ImageDraw, ImageFont

    card = Image.new("RGB", (720, 420), "#efe6cf")
    draw = ImageDraw.Draw(card)
    draw.rectangle((24, 24, 695, 395), outline="#b9a77c", width=3)
    for row, line in enumerate(ON_THE_CARD):
        draw.text((80, 80 + 100 * row), line, "#2c3a55", font=ImageFont.load_default(48))
    file = io.BytesIO()
    card.save(file, "PNG", optimize=True)
    return file.getvalue()


def _encoded(photograph: str, suffix: str) -> bytes:
    from PIL import Image

    require("demo", purpose="the example article, which has photographs of scikit-image,")
    spec = find_spec("skimage")
    file = io.BytesIO()
    with Image.open(Path(str(spec and spec.origin)).parent / "data" / photograph) as image:
        if suffix == ".jpg":
            image.convert("RGB").save(file, "JPEG", quality=88, optimize=True)
        else:
            image.save(file, "PNG", optimize=True)
    return file.getvalue()
