"""An example article, to try linking without a document of one's own: our text, photographs of scikit-image."""

from __future__ import annotations

import io
from importlib import resources
from pathlib import Path

from iconotext.extras import require
from iconotext.write import write_bytes

PHOTOGRAPHS = {
    "cat.jpg": "chelsea",
    "coffee.jpg": "coffee",
    "deep-field.jpg": "hubble_deep_field",
    "eye.jpg": "retina",
    "launch.jpg": "rocket",
    "lawn.png": "grass",
    "path.png": "brick",
    "portrait.jpg": "astronaut",
    "smear.png": "clock",
    "tripod.png": "camera",
}
"""File name to the name in ``skimage.data``: such as are in the public domain or CC0 by scikit-image's documentation,
and lie in its wheel, so that nothing is downloaded."""


def write_demo(folder: Path, *, force: bool = False) -> Path:
    """Write the example article and its photographs.

    Args:
        folder: Gets ``article.md`` and a folder ``pictures``; made if need be.
        force: Replace files that are there.

    Returns:
        The article.

    Raises:
        MissingPackageError: scikit-image is not installed; ``OutputError`` where a file exists or cannot be written.
    """
    article = folder / "article.md"
    text = (resources.files("iconotext.demo") / "article.md").read_bytes()
    for name, photograph in PHOTOGRAPHS.items():
        write_bytes(folder / "pictures" / name, _encoded(photograph, Path(name).suffix), force=force)
    write_bytes(article, text, force=force)  # last: where it is, the rest is too
    return article


def _encoded(photograph: str, suffix: str) -> bytes:
    require("skimage", purpose="the example article, which has photographs of scikit-image,")
    import skimage.data
    from PIL import Image

    pixels = getattr(skimage.data, photograph)()  # these lie in the wheel: nothing is fetched
    file = io.BytesIO()
    if suffix == ".jpg":
        Image.fromarray(pixels).save(file, "JPEG", quality=88, optimize=True)
    else:
        Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return file.getvalue()
